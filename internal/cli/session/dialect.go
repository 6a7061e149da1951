package session

// NativeDialect is our own words.
const NativeDialect = "native"

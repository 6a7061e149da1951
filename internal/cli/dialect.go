package cli

// nativeDialect is our own words.
const nativeDialect = "native"

package backend

// CopyArg is the first argument with which the program copies itself to the path
// that is the second: in a pod it comes out of its own image so.
const CopyArg = "__copy"

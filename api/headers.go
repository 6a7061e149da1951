package api

// LogOffsetHeader is the header of a log's answer that says which byte of the
// log it begins with; without it, that is not known.
const LogOffsetHeader = "Muster-Log-Offset"

// LogTimeWidth is how many characters the time takes that a log which is asked
// for with times has before each line, the space behind it included.
const LogTimeWidth = len("2006-01-02T15:04:05.000Z ")

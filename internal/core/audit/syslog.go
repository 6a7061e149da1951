package audit

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/musterhq/muster/internal/core"
)

// Sender is who says something to syslog.
type Sender struct {
	Host string // its name; empty: it is not known
	PID  int
}

const (
	// facility is that of messages of audit logs, RFC 5424 section 6.2.1.
	facility = 13
	// Severities, of the same section.
	warning, notice = 4, 5
	// valueLongest bounds a parameter of structured data, in bytes.
	valueLongest = 1024
)

// element names the structured data. 32473 is the number that RFC 5612 has for
// whoever has none of their own.
const element = "audit@32473"

// Syslog is an entry as a message of RFC 5424: who did what in structured data, and all
// of it in JSON as its text. A message that would be longer than most bytes leaves out
// what was before and after, and has the parameter cut; most is at least 8192.
func Syslog(e *core.AuditEntry, by Sender, most int) []byte {
	whole := message(e, by, "", body(e))
	if len(whole) <= most {
		return whole
	}
	short := *e
	short.Changes = nil
	for _, c := range e.Changes {
		short.Changes = append(short.Changes, core.AuditChange{Object: c.Object})
	}
	for {
		cut := message(e, by, fmt.Sprintf(` cut="%d changes"`, len(e.Changes)), body(&short))
		if len(cut) <= most {
			return cut
		}
		if len(short.Changes) == 0 { // one text alone is longer
			end := most
			for end > 0 && !utf8.RuneStart(cut[end]) {
				end--
			}
			return cut[:end]
		}
		short.Changes = short.Changes[:len(short.Changes)/2]
	}
}

func body(e *core.AuditEntry) []byte {
	text, err := json.Marshal(e)
	if err != nil { // texts, numbers and a time of four digits can be written
		text = []byte(err.Error())
	}
	return text
}

func message(e *core.AuditEntry, by Sender, more string, text []byte) []byte {
	severity := notice
	if e.Result == core.AuditRefused {
		severity = warning
	}
	var b strings.Builder
	// Six digits of a second are the most that the RFC allows.
	fmt.Fprintf(&b, "<%d>1 %s %s muster %d audit [%s", facility*8+severity, e.At.UTC().Format("2006-01-02T15:04:05.000000Z07:00"), header(by.Host), by.PID, element)
	for _, p := range [][2]string{
		{"seq", strconv.FormatInt(e.Seq, 10)}, {"actor", e.Actor}, {"token", e.Token}, {"address", e.Address}, {"action", e.Action},
		{"verb", e.Verb}, {"noun", e.Noun}, {"object", e.Object}, {"result", string(e.Result)}, {"previous", e.Previous}, {"hash", e.Hash},
	} {
		if p[1] != "" {
			b.WriteString(` ` + p[0] + `="` + value(p[1]) + `"`)
		}
	}
	b.WriteString(more + "] \ufeff") // by the mark it is known as UTF-8
	b.Write(text)
	return []byte(b.String())
}

// header is a field of a message's head: printable ASCII without spaces, or '-'.
func header(text string) string {
	ok := func(r rune) bool { return r > ' ' && r <= '~' }
	if text == "" || len(text) > 255 || strings.ContainsFunc(text, func(r rune) bool { return !ok(r) }) {
		return "-"
	}
	return text
}

// value is the value of a parameter. What controls a terminal or ends a line has no
// place in it.
func value(text string) string {
	if len(text) > valueLongest {
		end := valueLongest
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end]
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '"' || r == '\\' || r == ']':
			b.WriteByte('\\')
		case r < ' ' || r == 0x7f:
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Lines are entries in JSON, one a line, as Follow takes them.
func Lines(all []core.AuditEntry) []byte {
	var b []byte
	for i := range all {
		b = append(append(b, body(&all[i])...), '\n')
	}
	return b
}

// Pause is the wait after so many failed tries in a row, of 1 or more: a second, and
// twice as long each time up to a minute.
func Pause(failed int) time.Duration {
	return min(time.Second<<min(max(failed-1, 0), 10), time.Minute)
}

package weekly

import (
	"context"
	"errors"
	"time"
)

// Letter is a report as mail: a text, and the same as a page.
type Letter struct {
	ID      string // by which programs of readers know a repeated one
	To      string
	Subject string
	At      time.Time
	Text    string
	HTML    string
}

// Mail hands a letter to a mail server, and returns once it has taken it. nil: there is
// none. What another try does not mend is ErrNever.
type Mail func(context.Context, Letter) error

// ErrNever is among the errors of what no other try mends.
var ErrNever = errors.New("refused for good")

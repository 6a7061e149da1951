package session

import (
	"regexp"
	"slices"
	"sync"

	"github.com/spf13/cobra"
)

// ownName is this program where a text tells what to type: at the beginning or
// after a space or bracket, with a command after it. Cobra has put in the whole
// name already where it was asked.
// It is made when it is needed, which is seldom: every command would pay for it.
var ownName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(^|[\s(])(?:kubectl )?muster ([a-z-])`) })

// Called puts a text into the words of whoever reads it: those of the tool that
// this program is called as, and the name that people call it by.
func (s *Session) Called(text string) string {
	if s.Words != nil {
		text = s.Words(text)
	}
	return callIt(text, s.Program.Name)
}

// worded is a problem in these words. What a tool says itself is in them already.
func (s *Session) worded(f *Failure) *Failure {
	if f.Worded {
		return f
	}
	p := *f.Problem
	p.Detail, p.Hint = s.Called(p.Detail), s.Called(p.Hint)
	p.Errors = slices.Clone(p.Errors)
	for i := range p.Errors {
		e := &p.Errors[i]
		e.Problem, e.Hint = s.Called(e.Problem), s.Called(e.Hint)
	}
	return &Failure{Code: f.Code, Problem: &p, File: f.File, Worded: true}
}

func callIt(text, name string) string {
	if name == "" || name == "muster" {
		return text
	}
	return ownName().ReplaceAllString(text, "${1}"+name+" ${2}")
}

// Named makes all help texts show a name.
func Named(c *cobra.Command, name string) {
	if name == "" || name == "muster" {
		return
	}
	if !c.HasParent() {
		c.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: name}
	}
	c.Long, c.Example = callIt(c.Long, name), callIt(c.Example, name)
	for _, below := range c.Commands() {
		Named(below, name)
	}
}

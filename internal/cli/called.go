package cli

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

// called puts a text into the words of whoever reads it: those of the tool that
// this program is called as, and the name that people call it by.
func (s *session) called(text string) string {
	if s.words != nil {
		text = s.words(text)
	}
	return callIt(text, s.program.Name)
}

// worded is a problem in these words. What a tool says itself is in them already.
func (s *session) worded(f *failure) *failure {
	if f.worded {
		return f
	}
	p := *f.problem
	p.Detail, p.Hint = s.called(p.Detail), s.called(p.Hint)
	p.Errors = slices.Clone(p.Errors)
	for i := range p.Errors {
		e := &p.Errors[i]
		e.Problem, e.Hint = s.called(e.Problem), s.called(e.Hint)
	}
	return &failure{code: f.code, problem: &p, file: f.file, worded: true}
}

func callIt(text, name string) string {
	if name == "" || name == "muster" {
		return text
	}
	return ownName().ReplaceAllString(text, "${1}"+name+" ${2}")
}

// named makes all help texts show a name.
func named(c *cobra.Command, name string) {
	if name == "" || name == "muster" {
		return
	}
	if !c.HasParent() {
		c.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: name}
	}
	c.Long, c.Example = callIt(c.Long, name), callIt(c.Example, name)
	for _, below := range c.Commands() {
		named(below, name)
	}
}

package cli

import (
	"regexp"
	"sync"

	"github.com/spf13/cobra"
)

// ownName is this program where a text tells what to type: at the beginning or
// after a space or bracket, with a command after it. Cobra has put in the whole
// name already where it was asked.
// It is made when it is needed, which is seldom: every command would pay for it.
var ownName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(^|[\s(])(?:kubectl )?muster ([a-z-])`) })

// called puts the name that people call this program by into a text.
func (s *session) called(text string) string { return callIt(text, s.hooks.Name) }

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

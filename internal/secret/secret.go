// Package secret keeps values that nobody is shown: it seals them with a key
// that only the server has, and says what a task is given of each type.
//
// It decides nothing about who may have which secret. No value of one is ever
// in an error or in the printed form of a type of this package.
package secret

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
)

const (
	maxValues = 1 << 20 // bytes of all values together
)

// Values are the parts of a secret that nobody is shown, by name. Printed, it
// shows the names.
type Values map[string][]byte

// String is the names of the values.
func (v Values) String() string {
	return "values(" + strings.Join(slices.Sorted(maps.Keys(v)), ", ") + ")"
}

// Format writes String, whatever the verb.
func (v Values) Format(f fmt.State, _ rune) { fmt.Fprint(f, v.String()) }

// MarshalJSON writes String: values leave the program only in files and
// variables of tasks.
func (v Values) MarshalJSON() ([]byte, error) { return json.Marshal(v.String()) }

// Make checks what somebody gave for a secret and seals it. Absent fields get
// their defaults. Errors name the field and what is allowed.
func Make(b *Box, user, name, typ string, fields map[string]string, values map[string][]byte, now time.Time) (core.Secret, error) {
	s := core.Secret{User: user, Name: name, Type: typ, CreatedAt: now}
	t, ok := typeOf(typ)
	switch {
	case user == "":
		return core.Secret{}, fmt.Errorf("secret: user is empty; it must be the one whom it belongs to")
	case !spec.Named(name):
		return core.Secret{}, fmt.Errorf("secret: name %q is not one; use lower-case letters, digits and '-', "+
			"beginning and ending with a letter or digit, at most %d characters", shorten(name), spec.MaxName)
	case !ok:
		return core.Secret{}, fmt.Errorf("secret %q: type %q is unknown; write one of %s", name, shorten(typ), TypeNames())
	}
	given := make(map[string][]byte, len(fields))
	for k, v := range fields {
		given[k] = []byte(v)
	}
	kept, err := check(t.Fields, given)
	if err != nil {
		return core.Secret{}, fmt.Errorf("secret %q of type %s: field %w", name, typ, err)
	}
	for k, v := range kept {
		if s.Fields == nil {
			s.Fields = map[string]string{}
		}
		s.Fields[k] = string(v)
	}
	size := 0
	for _, v := range values {
		size += len(v)
	}
	if size > maxValues {
		return core.Secret{}, fmt.Errorf("secret %q of type %s: its values have %d bytes, more than %d; put large data into a volume", name, typ, size, maxValues)
	}
	if kept, err = check(t.Values, values); err != nil {
		return core.Secret{}, fmt.Errorf("secret %q of type %s: value %w", name, typ, err)
	}
	s.Sealed, err = b.Seal(core.SecretID{User: user, Name: name}, typ, kept)
	return s, err
}

// check returns the parts as they are kept.
func check(parts []Part, given map[string][]byte) (map[string][]byte, error) {
	kept := map[string][]byte{}
	var names []string
	for _, p := range parts {
		names = append(names, p.Name)
		text, there := given[p.Name]
		switch {
		case !there && p.Default != "":
			text = []byte(p.Default)
		case !there && p.Optional:
			continue
		case !there:
			return nil, fmt.Errorf("%q is missing; give it", p.Name)
		}
		text, err := p.check(text)
		if err != nil {
			return nil, fmt.Errorf("%q %w", p.Name, err)
		}
		kept[p.Name] = text
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(names, name) {
			if len(names) == 0 {
				return nil, fmt.Errorf("%q is unknown; there are none", shorten(name))
			}
			return nil, fmt.Errorf("%q is unknown; there are %s", shorten(name), strings.Join(names, ", "))
		}
	}
	return kept, nil
}

// shorten keeps messages readable, and what somebody has put into the wrong
// place out of them for the most part.
func shorten(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:20]) + "…"
	}
	return s
}

package mergepatch

import (
	"encoding/json"
	"testing"
)

// The cases are of RFC 7396, appendix A, read from its results back.
func TestBetween(t *testing.T) {
	for _, c := range [][3]string{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"a":"b","b":"c"}`, `{"b":"c"}`},
		{`{"a":"b","b":"c"}`, `{"b":"c"}`, `{"a":null}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d"}}`, `{"a":{"b":"d"}}`},
		{`{"a":{"b":"c","d":1}}`, `{"a":{"b":"c"}}`, `{"a":{"d":null}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{"a":{"b":1}}`, `{"a":{"b":1}}`, `{}`},
		{`{"a":12345678901234567890}`, `{"a":12345678901234567891}`, `{"a":12345678901234567891}`},
	} {
		from, err := Tree(json.RawMessage(c[0]))
		if err != nil {
			t.Fatal(err)
		}
		to, err := Tree(json.RawMessage(c[1]))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(Between(from, to)); err != nil || string(got) != c[2] {
			t.Errorf("from %s to %s: %s, want %s (%v)", c[0], c[1], got, c[2], err)
		}
	}
}

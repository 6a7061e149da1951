package spec

import (
	"errors"
	"testing"

	"github.com/musterhq/muster/internal/core/spec/codec"
)

func TestSaidIsWhatADocumentSaysWhateverItMeans(t *testing.T) {
	for doc, want := range map[string]string{
		"name: a\nresources: {gpu: 1.50, cpu: abc}\nwhatever: [yes, 1e3, 'x']": `{"name":"a","resources":{"cpu":"abc","gpu":1.50},"whatever":["yes",1.0e+3,"x"]}`,
		`{"env": {"LR": "0.1"}, "tty": true}`:                                  `{"env":{"LR":"0.1"},"tty":true}`,
		"command: |\n  one\n  two\nimage:\n":                                   `{"command":"one\ntwo\n","image":null}`,
	} {
		got, err := codec.Written([]byte(doc))
		if err != nil || string(got) != want {
			t.Errorf("%s\nsays %s (%v), want %s", doc, got, err, want)
		}
	}
	for _, doc := range []string{"", "- a", "a: [", "a: 1\n b: 2", "x: .inf\ny: .nan\n\xff"} {
		_, err := codec.Written([]byte(doc))
		var errs codec.Errors
		if !errors.As(err, &errs) || len(errs) == 0 || errs[0].Problem == "" {
			t.Errorf("%q: %v", doc, err)
		}
	}
}

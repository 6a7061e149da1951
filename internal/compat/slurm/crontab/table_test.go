package crontab

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestATableIsRead(t *testing.T) {
	const text = `# nightly work
MAILTO=ops
DIR="/data/my things"

#SCRON -p batch -t 30
#SCRON --job-name="the report"
0 2 * * mon-fri	/bin/report --all "a b" > out   # not a comment
@hourly tidy
# the end
`
	all, err := read(text)
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	a, b := all[0], all[1]
	if a.cron != "0 2 * * mon-fri" || a.command != `/bin/report --all "a b" > out   # not a comment` || a.line != 7 || !slices.Equal(a.options, []string{"-p batch -t 30", `--job-name="the report"`}) {
		t.Errorf("the first is %+v", a)
	}
	if b.cron != "@hourly" || b.command != "tidy" || len(b.options) != 0 || !slices.Equal(b.env, []string{"MAILTO=ops", "DIR=/data/my things"}) {
		t.Errorf("the second is %+v", b)
	}
	if a.text+b.text != text {
		t.Errorf("put together it is\n%s", a.text+b.text)
	}
}

func TestWrongLinesOfATable(t *testing.T) {
	for text, want := range map[string]string{
		"# x\n0 2 * * *\n":    "line 2: it does not say what is run",
		"0 2 * *\n":           "line 1: ",
		"\n61 * * * * true\n": `line 2: minute "61"`,
		"@reboot true\n":      `line 1: "@reboot" is not a word`,
	} {
		_, err := read(text)
		var m *mistake
		if !errors.As(err, &m) || !strings.HasPrefix(err.Error(), want) || m.hint == "" {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if all, err := read("# nothing\n"); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
}

package podexec

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"testing"
)

func TestVerdictIsTakenOut(t *testing.T) {
	t.Parallel()
	w := wrapping{token: "TOKEN"}
	for _, c := range []struct {
		sent, passed string
		code         int // -1: none
	}{
		{"", "", -1},
		{"out\n\036TOKEN:3\n", "out\n", 3},
		{"no end\036TOKEN:137\nleft behind", "no endleft behind", 137},
		{"\036TOKEN\036TOKEN:0\n", "\036TOKEN", 0},
		{"\036TOKEN:4", "\036TOKEN:4", -1},
		{"\036TOKEN:x\nrest", "\036TOKEN:x\nrest", -1},
		{"\036\036\036TOK", "\036\036\036TOK", -1},
	} {
		for size := 1; size <= len(c.sent)+1; size++ {
			var out bytes.Buffer
			told := 0
			v := &verdict{w: &out, mark: w.mark(), started: func() { told++ }}
			for rest := []byte(c.sent); len(rest) > 0; {
				n := min(size, len(rest))
				if k, err := v.Write(rest[:n]); k != n || err != nil {
					t.Fatalf("Write: %d, %v", k, err)
				}
				rest = rest[n:]
			}
			v.close()
			code, ok := v.code()
			if out.String() != c.passed || ok != (c.code >= 0) || ok && (code != c.code || told != 1) {
				t.Errorf("%q in pieces of %d: passed %q, code %d %v, told %d times", c.sent, size, out.String(), code, ok, told)
			}
		}
	}
}

// TestWhatIsPutAroundACommand runs it in the shell of this machine.
// TestAVerdictThatNeverEndsIsPassedOn: a command knows the mark and may write
// whatever it likes after it.
func TestAVerdictThatNeverEndsIsPassedOn(t *testing.T) {
	var out strings.Builder
	told := 0
	v := &verdict{w: &out, mark: wrapping{token: "T"}.mark(), started: func() { told++ }}
	block := strings.Repeat("x", 1000)
	write := func(s string) {
		t.Helper()
		if n, err := v.Write([]byte(s)); n != len(s) || err != nil {
			t.Fatal(n, err)
		}
		if len(v.hold) > 10 {
			t.Fatalf("%d bytes are held back", len(v.hold))
		}
	}
	write("\036T:")
	for range 100 {
		write(block)
	}
	write("\036T:12345\n\036T:\n\036T:1")
	write("7\nend")
	v.close()
	if code, ok := v.code(); !ok || code != 17 || told != 1 {
		t.Errorf("it ended with %d, %v, told %d times", code, ok, told)
	}
	if want := "\036T:" + strings.Repeat(block, 100) + "\036T:12345\n\036T:\nend"; out.String() != want {
		t.Errorf("it wrote %d bytes, want %d", out.Len(), len(want))
	}
}

func TestWhatIsPutAroundACommand(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("/bin/sh"); err != nil {
		t.Skip("this takes a shell at /bin/sh")
	}
	w := wrapping{token: "T0KEN", env: []string{"A=1 2", "B=it's"}, input: true}
	run := func(w wrapping, argv ...string) (int, string, string) {
		t.Helper()
		words := w.words(argv)
		cmd := exec.Command(words[0], words[1:]...)
		var out, errs bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("input"), &out, &errs
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), out.String(), errs.String()
	}
	script := `cat; echo "$A|$B|$1|$MUSTER_EXEC"; echo wrong >&2; exit 5`
	word := "\036T0KEN:5\n"
	code, out, errs := run(w, "/bin/sh", "-c", script, "sh", "$x 'y'")
	if code != 5 || out != "input1 2|it's|$x 'y'|T0KEN\n"+word || errs != "wrong\n"+word {
		t.Errorf("%d, %q, %q", code, out, errs)
	}
	if code, out, errs = run(w, "/bin/sh", "-c", "kill -9 $$"); code != 137 || out != "\036T0KEN:137\n" || errs != out {
		t.Errorf("a signal: %d, %q, %q", code, out, errs)
	}
	if code, out, errs = run(w, "no-such-program-at-all"); code != notFound || out+errs != "" {
		t.Errorf("no program: %d, %q, %q", code, out, errs)
	}
	w.input = false
	if code, out, errs = run(w, "cat"); code != 0 || out != "\036T0KEN:0\n" || errs != out {
		t.Errorf("without input: %d, %q, %q", code, out, errs)
	}
	w.tty = true
	if code, out, errs = run(w, "/bin/sh", "-c", script); code != 5 || out != "input1 2|it's||T0KEN\n" || errs != "wrong\n" {
		t.Errorf("on a terminal: %d, %q, %q", code, out, errs)
	}
}

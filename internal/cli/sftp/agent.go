package sftp

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// agent is a shell that stays and is given one script after another.
type agent struct {
	in     *io.PipeWriter
	out    *bufio.Reader
	mark   string // what stands before the exit code of a script
	cancel context.CancelFunc
	ended  chan struct{}
	begun  bool
}

// outputMost bounds what one script may write, in bytes.
const outputMost = 64 << 20

func newAgent(ctx context.Context, run Runner) *agent {
	ctx, cancel := context.WithCancel(ctx)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	a := &agent{in: inW, out: bufio.NewReaderSize(outR, 64<<10), mark: "\n" + rand.Text() + " ", cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(a.ended)
		var complaint bytes.Buffer
		code, err := run(ctx, []string{"sh", "-s"}, inR, outW, &complaint)
		if err == nil {
			err = fmt.Errorf("the shell of the task ended with exit code %d: %s", code, strings.TrimSpace(complaint.String()))
		}
		_ = outW.CloseWithError(err)
		_ = inR.CloseWithError(err)
	}()
	return a
}

// ask runs a script in a shell of its own below this one.
func (a *agent) ask(script string, words []string) ([]byte, int, error) {
	var b strings.Builder
	if !a.begun {
		b.WriteString("LC_ALL=C; export LC_ALL\n" + prelude)
		a.begun = true
	}
	fmt.Fprintf(&b, "( set -- %s; eval %s ) 2>&1 </dev/null; printf '\\n%%s %%d\\n' %s $?\n", quoted(words...), quoted(script), strings.TrimSpace(a.mark))
	if _, err := io.WriteString(a.in, b.String()); err != nil { // the shell reads what it is to do as it does it
		return nil, 0, err
	}
	var out []byte
	for {
		line, err := a.out.ReadSlice('\n')
		out = append(out, line...)
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return nil, 0, err
		}
		if len(out) > outputMost {
			return nil, 0, errors.New("the answer is too long")
		}
		if i := bytes.LastIndex(out, []byte(a.mark)); i >= 0 && out[len(out)-1] == '\n' {
			code, err := strconv.Atoi(strings.TrimSpace(string(out[i+len(a.mark):])))
			if err != nil {
				return nil, 0, fmt.Errorf("the shell of the task wrote %q", out[i:])
			}
			return out[:i], code, nil
		}
	}
}

// quoted are words for sh. A zero byte is in no path.
func quoted(words ...string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = "'" + strings.ReplaceAll(strings.ReplaceAll(w, "\x00", ""), "'", `'\''`) + "'"
	}
	return strings.Join(out, " ")
}

// close ends the shell, and waits until it has.
func (a *agent) close() {
	_ = a.in.Close()
	a.cancel()
	<-a.ended
}

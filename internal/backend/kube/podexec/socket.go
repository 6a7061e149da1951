package podexec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	protocol "k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/websocket"
	"k8s.io/client-go/util/exec"

	gorilla "github.com/gorilla/websocket"
)

// socket is a remotecommand.Executor that speaks v5.channel.k8s.io over one
// WebSocket: the first byte of a message is its channel, and 255 closes the
// channel that follows.
//
// That of client-go asks for a sign of life every five seconds, whatever else
// happens. An API server that has sent everything closes at once, and a question
// that reaches it then is answered with a reset: what was still on its way is
// lost. It also takes whoever does not read for a minute, or a command that does
// not read its input for as long, for a connection that is dead. So here the other
// end is asked only while nothing comes from it and it is waited for.
type socket struct {
	config *rest.Config
	url    string
	quiet  time.Duration // how long nothing comes until the other end is asked
	dead   time.Duration // how long it has for its answer
}

const (
	socketQuiet = 5 * time.Second
	socketDead  = time.Minute
)

// Stream implements remotecommand.Executor.
func (s *socket) Stream(o remotecommand.StreamOptions) error {
	return s.StreamWithContext(context.Background(), o)
}

// StreamWithContext implements remotecommand.Executor. A command that ends with
// another exit code than 0 is an exec.CodeExitError.
func (s *socket) StreamWithContext(ctx context.Context, o remotecommand.StreamOptions) error {
	transport, holder, err := websocket.RoundTripperFor(s.config)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return err
	}
	conn, err := websocket.Negotiate(transport, holder, request, protocol.StreamProtocolV5Name)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	l := &link{conn: conn, dead: s.dead}
	ended := make(chan struct{})
	defer close(ended)
	go l.attend(ended, s.quiet)
	if o.Stdin != nil {
		go l.send(o.Stdin)
	}
	if o.TerminalSizeQueue != nil {
		go l.resize(o.TerminalSizeQueue)
	}
	err = l.receive(o.Stdout, o.Stderr)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// link is a WebSocket in use.
type link struct {
	conn  *gorilla.Conn
	dead  time.Duration
	turns atomic.Uint64 // of the reader; odd: it waits for a message
	asked atomic.Bool   // and not answered yet
	mu    sync.Mutex    // one message is written at a time
}

// receive copies what comes, until the end of the command is told.
func (l *link) receive(stdout, stderr io.Writer) error {
	l.conn.SetPongHandler(func(string) error { return l.answered() })
	to := map[byte]io.Writer{protocol.StreamStdOut: stdout, protocol.StreamStdErr: stderr}
	for {
		if err := l.answered(); err != nil {
			return err
		}
		l.turns.Add(1)
		_, message, err := l.conn.ReadMessage()
		l.turns.Add(1)
		if err != nil {
			return fmt.Errorf("the connection to the container was lost: %w", err)
		}
		if len(message) < 2 {
			continue // a channel that has nothing to say yet
		}
		channel, data := message[0], message[1:]
		if channel == protocol.StreamErr {
			return outcome(data)
		}
		if w := to[channel]; w != nil {
			if _, err := w.Write(data); err != nil {
				to[channel] = nil // nobody takes it any more; how it ends is to be known all the same
			}
		}
	}
}

// attend asks the other end whether it is there, while it is waited for and
// nothing comes.
func (l *link) attend(ended <-chan struct{}, quiet time.Duration) {
	look := time.NewTicker(quiet)
	defer look.Stop()
	for last := uint64(0); ; {
		select {
		case <-ended:
			return
		case <-look.C:
		}
		turn := l.turns.Load()
		if turn%2 == 1 && turn == last {
			l.ask()
		}
		last = turn
	}
}

// ask wants an answer until l.dead has passed. While a message cannot be written
// because the command does not read its input, nothing can be asked, and nothing
// is wrong. But a question that is cut off half written is the last that is ever
// written on a connection: it has that long as well, and if it fails so does whoever
// waits for a message, who would not hear of it otherwise.
func (l *link) ask() {
	if l.asked.Swap(true) {
		return
	}
	if err := l.conn.WriteControl(gorilla.PingMessage, nil, time.Now().Add(l.dead)); err != nil {
		l.asked.Store(false)
		if broken := (*net.OpError)(nil); errors.As(err, &broken) {
			_ = l.conn.SetReadDeadline(time.Now())
		}
		return
	}
	_ = l.conn.SetReadDeadline(time.Now().Add(l.dead))
}

// answered is called when anything has come.
func (l *link) answered() error {
	l.asked.Store(false)
	return l.conn.SetReadDeadline(time.Time{})
}

// send copies a command's input, and its end.
func (l *link) send(from io.Reader) {
	b := make([]byte, 1+32<<10)
	b[0] = protocol.StreamStdIn
	for {
		n, err := from.Read(b[1:])
		if n > 0 && l.write(b[:1+n]) != nil {
			return // the reader tells why
		}
		if err != nil {
			_ = l.write([]byte{protocol.StreamClose, protocol.StreamStdIn})
			return
		}
	}
}

// resize tells the sizes of a terminal.
func (l *link) resize(from remotecommand.TerminalSizeQueue) {
	for z := from.Next(); z != nil; z = from.Next() {
		b, err := json.Marshal(z)
		if err != nil || l.write(append([]byte{protocol.StreamResize}, b...)) != nil {
			return
		}
	}
}

func (l *link) write(b []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn.WriteMessage(gorilla.BinaryMessage, b)
}

// outcome is how a command has ended by what is told on the channel for that.
func outcome(message []byte) error {
	var s metav1.Status
	if err := json.Unmarshal(message, &s); err != nil {
		return fmt.Errorf("how the command ended was told as %q: %w", message, err)
	}
	if s.Status == metav1.StatusSuccess {
		return nil
	}
	if s.Reason == protocol.NonZeroExitCodeReason && s.Details != nil {
		for _, c := range s.Details.Causes {
			if c.Type != protocol.ExitCodeCauseType {
				continue
			}
			if code, err := strconv.ParseUint(c.Message, 10, 8); err == nil {
				return exec.CodeExitError{Err: fmt.Errorf("the command ended with exit code %d", code), Code: int(code)}
			}
		}
	}
	return errors.New(s.Message)
}

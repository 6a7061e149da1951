//go:build linux

package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/musterhq/muster/internal/backend/local/protocol"
)

// client is one connection to a supervisor. Calls may overlap.
type client struct {
	conn net.Conn
	sent sync.Mutex // guards enc
	enc  *json.Encoder

	mu         sync.Mutex
	serial     uint64
	waiting    map[uint64]*asker // a watch stays
	err        error             // why the connection ended
	dead       chan struct{}
	version    int
	supervisor int // its pid
}

// asker waits for the answers to one request.
type asker struct {
	answers chan protocol.Reply
	gone    chan struct{} // closed when it wants no more
}

// errBroken is a connection that ended before the answer came: whether the
// supervisor did what it was told is unknown, and every operation may be repeated.
var errBroken = errors.New("the connection to the supervisor broke")

func newClient(ctx context.Context, dir string) (*client, error) {
	conn, err := protocol.Dial(dir)
	if err != nil {
		return nil, err
	}
	c := &client{conn: conn, enc: json.NewEncoder(conn), waiting: map[uint64]*asker{}, dead: make(chan struct{})}
	go c.readLoop()
	r, err := c.call(ctx, protocol.Request{Op: protocol.OpHello, Version: protocol.Version})
	if err != nil {
		c.close(err)
		return nil, err
	}
	c.version, c.supervisor = r.Version, r.PID
	return c, nil
}

func (c *client) readLoop() {
	dec := json.NewDecoder(c.conn)
	for {
		var r protocol.Reply
		if err := dec.Decode(&r); err != nil {
			c.close(fmt.Errorf("%w: %w", errBroken, err))
			return
		}
		c.mu.Lock()
		a := c.waiting[r.Serial]
		c.mu.Unlock()
		if a != nil {
			select {
			case a.answers <- r:
			case <-a.gone: // nobody else is kept waiting for it
			case <-c.dead:
				return
			}
		}
	}
}

func (c *client) close(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
		close(c.dead)
		_ = c.conn.Close()
	}
}

func (c *client) alive() bool {
	select {
	case <-c.dead:
		return false
	default:
		return true
	}
}

// open sends q; answers arrive on the channel until done is called, once.
func (c *client) open(q protocol.Request) (answers chan protocol.Reply, done func(), err error) {
	a := &asker{answers: make(chan protocol.Reply, 1), gone: make(chan struct{})}
	c.mu.Lock()
	c.serial++
	q.Serial = c.serial
	c.waiting[q.Serial] = a
	c.mu.Unlock()
	done = func() {
		close(a.gone)
		c.mu.Lock()
		delete(c.waiting, q.Serial)
		c.mu.Unlock()
	}
	c.sent.Lock()
	err = c.enc.Encode(q)
	c.sent.Unlock()
	if err != nil {
		done()
		c.close(fmt.Errorf("%w: %w", errBroken, err))
		return nil, nil, c.err
	}
	return a.answers, done, nil
}

// call sends q and waits for its answer. An error of the supervisor is a *refusal.
func (c *client) call(ctx context.Context, q protocol.Request) (protocol.Reply, error) {
	answers, done, err := c.open(q)
	if err != nil {
		return protocol.Reply{}, err
	}
	defer done()
	select {
	case r := <-answers:
		if r.Err != "" {
			return r, &refusal{r.Err}
		}
		return r, nil
	case <-c.dead:
		return protocol.Reply{}, c.err
	case <-ctx.Done():
		return protocol.Reply{}, ctx.Err()
	}
}

// refusal is an error that the supervisor answered.
type refusal struct{ text string }

func (e *refusal) Error() string { return e.text }

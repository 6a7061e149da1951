//go:build linux

package local

import (
	"context"
	"encoding/json"
	"net"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/backend/local/protocol"
	"github.com/musterhq/muster/internal/core"
)

// quiet is a client of a supervisor that says what it is told to say, and of nobody
// knows whether it answers.
func quiet(t *testing.T) (*client, net.Conn) {
	t.Helper()
	ours, supervisors := net.Pipe()
	c := &client{conn: ours, enc: json.NewEncoder(ours), waiting: map[uint64]*asker{}, dead: make(chan struct{})}
	go c.readLoop()
	t.Cleanup(func() { c.close(errBroken); _ = supervisors.Close() })
	return c, supervisors
}

// Who follows and goes away, a server that ends, leaves answers behind that nobody
// takes. What others ask for is still answered.
func TestWhoLeavesKeepsNobodyElseWaiting(t *testing.T) {
	t.Parallel()
	c, supervisor := quiet(t)
	asked := json.NewDecoder(supervisor)
	told := make(chan struct{})
	go func() {
		var q protocol.Request
		if asked.Decode(&q) != nil {
			return
		}
		for range 3 { // more than it takes before it leaves
			if json.NewEncoder(supervisor).Encode(protocol.Reply{Serial: q.Serial}) != nil {
				return
			}
		}
		close(told)
		if asked.Decode(&q) == nil {
			_ = json.NewEncoder(supervisor).Encode(protocol.Reply{Serial: q.Serial, PID: 7})
		}
	}()
	_, done, err := c.open(protocol.Request{Op: protocol.OpWatch})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	answer := make(chan int, 1)
	go func() {
		select {
		case <-told:
		case <-time.After(200 * time.Millisecond): // it waits to be heard
		}
		done()
		r, _ := c.call(ctx, protocol.Request{Op: protocol.OpObserve})
		answer <- r.PID
	}()
	select {
	case pid := <-answer:
		if pid != 7 {
			t.Errorf("it is answered %d", pid)
		}
	case <-ctx.Done():
		t.Error("it is not answered")
	}
}

// A backend is closed while it tells a supervisor that does not answer to end a task.
func TestASupervisorThatDoesNotAnswerHoldsUpNoEnd(t *testing.T) {
	t.Parallel()
	c, supervisor := quiet(t)
	p := &Backend{preps: newPreparations(), link: c}
	heard := make(chan struct{})
	go func() {
		var q protocol.Request
		if json.NewDecoder(supervisor).Decode(&q) == nil {
			close(heard)
		}
	}()
	a := shellTask("handed", 0, "true")
	p.preps.tasks[a.ID] = &preparation{a: a, cancel: func() {}, handing: true}
	p.stopPreparing([]core.TaskID{a.ID}, 0)
	<-heard
	over := make(chan struct{})
	go func() { p.preps.close(); close(over) }()
	select {
	case <-over:
	case <-time.After(time.Minute):
		t.Fatal("it waits for the answer")
	}
}

package access

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/osuser"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/server/problem"
)

// AsSubmitter reports whether tasks of this server run as who submitted them.
func (s *Guard) AsSubmitter() bool { return s.accounts != nil }

// nameOf is the name of a user of the operating system.
func (s *Guard) nameOf(uid int) string {
	if s.accounts == nil {
		return userName(uid)
	}
	if a, err := s.accounts.ByUID(uint32(uid)); err == nil {
		return a.Name
	}
	return strconv.Itoa(uid)
}

// ofMachine adds to who has come by the socket, or in a browser that was let in there,
// what rules say of all users of the machine.
func (s *subject) ofMachine(c rbac.Caller) rbac.Caller {
	if s.socket && s.guard.accounts != nil {
		c.Groups = slices.Concat(c.Groups, []string{rbac.MachineGroup})
	}
	return c
}

// ByMachine reports whether who asks is a user of the machine by the socket's word.
func ByMachine(ctx context.Context) bool {
	s := subjectOf(ctx)
	return s != nil && s.socket && s.guard.accounts != nil
}

// OSUser is who asks, as the machine knows them: by the socket, or by what the server's
// owner has said of the user. nil: tasks of this server do not run as who submits them.
// Whom the machine does not know is refused, as nothing of theirs can run.
func OSUser(ctx context.Context) (*core.OSUser, error) {
	s := subjectOf(ctx)
	if s == nil || s.guard.accounts == nil {
		return nil, nil
	}
	as, err := s.osUser()
	if err == nil && as == nil {
		err = problem.New(http.StatusForbidden, "forbidden", s.name+" has no account of this machine; "+osuser.Unmapped, "muster user update "+s.name+" --os-user ACCOUNT, as the server's owner")
	}
	return as, err
}

// osUser is the subject as the machine knows it; nil: not at all.
func (s *subject) osUser() (*core.OSUser, error) {
	if s.socket {
		u := &core.OSUser{UID: uint32(s.uid)}
		if a, err := s.guard.accounts.ByUID(u.UID); err == nil {
			u.Name = a.Name
		} else if !errors.Is(err, osuser.ErrNone) {
			return nil, err
		}
		return u, nil
	}
	u, ok := s.guard.rules.Rights().User(s.name)
	if !ok || u.OSUser == "" {
		return nil, nil
	}
	a, err := s.guard.accounts.ByName(u.OSUser)
	if errors.Is(err, osuser.ErrNone) {
		return nil, problem.New(http.StatusConflict, "conflict", "tasks of "+s.name+" run as "+strconv.Quote(u.OSUser)+" here, which is no account of this machine any more", "muster user update "+s.name+" --os-user ACCOUNT, as the server's owner")
	}
	if err != nil {
		return nil, err
	}
	return &core.OSUser{UID: a.UID, Name: a.Name}, nil
}

// ActsAs refuses whoever would have something run as another user of the machine: who
// enters a task of a workload, or says what it is to run, does so as that user. Rules
// give no right to be somebody else; the server's owner is root, and may.
func ActsAs(ctx context.Context, w *core.Workload, what string) error {
	s := subjectOf(ctx)
	if s == nil || s.guard.accounts == nil || s.owner {
		return nil
	}
	as, err := s.osUser()
	if err != nil {
		return err
	}
	if osuser.Same(as, w.As) {
		return nil
	}
	who := "nobody whom this machine knows"
	if w.As != nil {
		who = w.As.Name
		if who == "" {
			who = "user " + strconv.FormatUint(uint64(w.As.UID), 10)
		}
	}
	p := problem.New(http.StatusForbidden, "forbidden", "tasks of "+w.Name+" run as "+who+" of this machine: only they, and the server's owner, "+what, "ask them; submit a workload of your own; or stop or restart it, where a rule lets you")
	s.guard.refused(ctx, s, rbac.Exec, rbac.NounOf(w.Kind), p)
	return p
}

package access

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/osuser"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/server/problem"
)

// town has the accounts ann (1001) and bob (1002).
type town struct{}

func (town) ByUID(uid uint32) (osuser.Account, error) {
	for _, a := range []osuser.Account{{Name: "root"}, {Name: "ann", UID: 1001}, {Name: "bob", UID: 1002}} {
		if a.UID == uid {
			return a, nil
		}
	}
	return osuser.Account{}, osuser.ErrNone
}

func (town) ByName(name string) (osuser.Account, error) {
	for _, uid := range []uint32{0, 1001, 1002} {
		if a, _ := (town{}).ByUID(uid); a.Name == name {
			return a, nil
		}
	}
	return osuser.Account{}, osuser.ErrNone
}

// townhall is a guard of a server whose tasks run as who submits them.
func townhall(t *testing.T, a core.Access) *Guard {
	t.Helper()
	policy := rbac.New(a, nil)
	return New(Config{
		MAC:   func(p string) string { sum := sha256.Sum256([]byte("key" + p)); return hex.EncodeToString(sum[:]) },
		Clock: time.Now, Log: slog.New(slog.DiscardHandler), Accounts: town{}, Rules: Rules{Rights: func() *rbac.Policy { return policy }},
	})
}

// opened is access as a server for the users of a machine opens it to them.
var opened = core.Access{
	Control: core.AccessControl{Enabled: true},
	Users: []core.User{
		{Name: "carl", Kind: core.SubjectUser}, {Name: "cora", Kind: core.SubjectUser, OSUser: "bob"}, {Name: "cleo", Kind: core.SubjectUser, OSUser: "gone"},
		{Name: "bob", Kind: core.SubjectUser, Account: &core.Account{Groups: []string{rbac.MachineGroup}}},
	},
	Tokens: []core.Token{{ID: "1", User: "carl", Hash: hashOf("carl")}, {ID: "2", User: "cora", Hash: hashOf("cora")}, {ID: "3", User: "cleo", Hash: hashOf("cleo")}, {ID: "4", User: "bob", Hash: hashOf("bob")}},
	Rules:  []core.AccessRule{{ID: "r", Subject: core.Subject{Kind: core.SubjectGroup, Name: rbac.MachineGroup}, Role: rbac.MachineUser, Scope: core.SystemScope}},
}

// comes is the context of a request that is let in: of a user of the machine, or with a
// token, or with a cookie.
func comes(t *testing.T, g *Guard, p peer, header ...string) context.Context {
	t.Helper()
	r, err := http.NewRequestWithContext(context.WithValue(t.Context(), peerKey{}, p), "GET", "http://127.0.0.1/v1/nodes", nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	in, done, bad := g.Admit(r)
	if bad != nil {
		t.Fatalf("it is not let in: %+v", bad)
	}
	t.Cleanup(done)
	return in.Context()
}

var elsewhere = peer{uid: -1}

func TestUsersOfTheMachine(t *testing.T) {
	g := townhall(t, opened)
	ann := comes(t, g, peer{uid: 1001, unix: true})
	c, _, ok := Asker(ann)
	if !ok || c.Name != "ann" || c.Owner || !slices.Contains(c.Groups, rbac.MachineGroup) || !ByMachine(ann) {
		t.Errorf("ann is %+v", c)
	}
	if as, err := OSUser(ann); err != nil || as.UID != 1001 || as.Name != "ann" {
		t.Errorf("her account is %+v, %v", as, err)
	}
	for _, x := range []struct {
		verb, noun, owner string
		want              bool
	}{
		{rbac.Create, rbac.Trainings, "ann", true}, {rbac.Read, rbac.Trainings, "ann", true}, {rbac.Exec, rbac.Trainings, "ann", true}, {rbac.Read, rbac.Nodes, "", true},
		{rbac.Read, rbac.Trainings, "bob", false}, {rbac.Delete, rbac.Trainings, "bob", false}, {rbac.Create, rbac.HostAccess, "ann", false}, {rbac.Update, rbac.Settings, "", false},
	} {
		if got := Allowed(ann, x.verb, x.noun, "default", x.owner); got != x.want {
			t.Errorf("ann may %s %s of %q: %v", x.verb, x.noun, x.owner, got)
		}
	}
	root := comes(t, g, peer{uid: 0, unix: true})
	if as, err := OSUser(root); err != nil || as.UID != 0 || !Owns(root) {
		t.Errorf("root is %+v, %v", as, err)
	}
	// Before it is opened to them, nobody but the owner may do anything.
	closed := comes(t, townhall(t, core.Access{}), peer{uid: 1001, unix: true})
	if !Enforced(closed) || Allowed(closed, rbac.Create, rbac.Trainings, "default", "ann") {
		t.Error("before access control is on, it is not")
	}
}

func TestUsersFromElsewhere(t *testing.T) {
	g := townhall(t, opened)
	for user, want := range map[string]string{"carl": "muster user update carl --os-user", "cora": "", "cleo": `"gone"`, "bob": "muster user update bob --os-user"} {
		ctx := comes(t, g, elsewhere, "Authorization", "Bearer "+user)
		as, err := OSUser(ctx)
		switch p := problem.Refused(err); {
		case want == "" && (err != nil || as.UID != 1002):
			t.Errorf("%s has the account %+v, %v", user, as, err)
		case want != "" && (err == nil || p != nil && !strings.Contains(p.Detail+p.Hint, want)):
			t.Errorf("%s has the account %+v, %v, want what says %s", user, as, err, want)
		}
		// A token of somebody who is called like an account is not that account, and no
		// identity provider puts anybody into the machine's group.
		if c, _, _ := Asker(ctx); slices.Contains(c.Groups, rbac.MachineGroup) || ByMachine(ctx) {
			t.Errorf("%s counts as a user of the machine: %+v", user, c)
		}
	}
}

// TestABrowserOfTheMachine: who opened the link of muster ui is who they are at the socket.
func TestABrowserOfTheMachine(t *testing.T) {
	g := townhall(t, opened)
	show := func(who identity) context.Context {
		cookie, _ := g.sessions.issue(who, time.Hour, false)
		return comes(t, g, elsewhere, "Cookie", cookie.Name+"="+cookie.Value)
	}
	code, err := g.invite(comes(t, g, peer{uid: 1001, unix: true}), nil)
	if err != nil {
		t.Fatal(err)
	}
	who := g.sessions.codes[code.Body.Code].identity
	ann := show(identityOf(who.String()))
	if as, err := OSUser(ann); err != nil || as.UID != 1001 || User(ann) != "ann" || Owns(ann) || !Allowed(ann, rbac.Create, rbac.Trainings, "default", "ann") {
		t.Errorf("ann in a browser is %+v, %v", as, err)
	}
	if carl := show(identity{user: "ann", token: "1"}); ByMachine(carl) {
		t.Error("who came by a token is a user of the machine in a browser")
	}
}

// TestNobodyActsAsAnother: whatever roles they have.
func TestNobodyActsAsAnother(t *testing.T) {
	a := opened
	a.Rules = append(slices.Clone(a.Rules),
		core.AccessRule{ID: "s", Subject: core.Subject{Kind: core.SubjectUser, Name: "carl"}, Role: rbac.SystemAdministrator, Scope: core.SystemScope},
		core.AccessRule{ID: "u", Subject: core.Subject{Kind: core.SubjectUser, Name: "bob"}, Role: rbac.SystemAdministrator, Scope: core.SystemScope})
	g := townhall(t, a)
	of := func(as *core.OSUser) *core.Workload {
		w := &core.Workload{Name: "w", Project: "default", Kind: lifecycle.Training, User: "ann"}
		w.As = as
		return w
	}
	anns := &core.OSUser{UID: 1001, Name: "ann"}
	for name, c := range map[string]struct {
		ctx  context.Context
		of   *core.OSUser
		want bool
	}{
		"ann":                       {comes(t, g, peer{uid: 1001, unix: true}), anns, true},
		"root":                      {comes(t, g, peer{uid: 0, unix: true}), anns, true},
		"bob, an administrator":     {comes(t, g, peer{uid: 1002, unix: true}), anns, false},
		"carl, an administrator":    {comes(t, g, elsewhere, "Authorization", "Bearer carl"), anns, false},
		"cora, who has bob's":       {comes(t, g, elsewhere, "Authorization", "Bearer cora"), &core.OSUser{UID: 1002}, true},
		"ann, of nobody's":          {comes(t, g, peer{uid: 1001, unix: true}), nil, false},
		"carl, of nobody's":         {comes(t, g, elsewhere, "Authorization", "Bearer carl"), nil, false},
		"whoever has no account":    {comes(t, g, peer{uid: 1009, unix: true}), anns, false},
		"ann, of her number's past": {comes(t, g, peer{uid: 1001, unix: true}), &core.OSUser{UID: 1001, Name: "eve"}, true}, // it does not start any more
	} {
		if err := ActsAs(c.ctx, of(c.of), "enter them"); (err == nil) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package osuser

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core"
)

// book has accounts, and fails where it is broken.
type book struct {
	all    []Account
	broken error
}

func (b book) find(is func(Account) bool) (Account, error) {
	if b.broken != nil {
		return Account{}, b.broken
	}
	if i := slices.IndexFunc(b.all, is); i >= 0 {
		return b.all[i], nil
	}
	return Account{}, ErrNone
}

func (b book) ByUID(uid uint32) (Account, error) {
	return b.find(func(a Account) bool { return a.UID == uid })
}

func (b book) ByName(name string) (Account, error) {
	return b.find(func(a Account) bool { return a.Name == name })
}

var here = book{all: []Account{
	{Name: "root"}, {Name: "toor", UID: 0}, {Name: "nobody", UID: 65534, GID: 65534},
	{Name: "ann", UID: 1001, GID: 1001, Groups: []uint32{27, 500}, Home: "/home/ann"},
}}

func TestDecide(t *testing.T) {
	id := func(n uint32) *uint32 { return &n }
	usual := Rule{Root: "nobody"}
	for _, c := range []struct {
		name  string
		rule  Rule
		who   *core.OSUser
		wish  Wish
		want  string // uid gid groups; or what the refusal says
		fails bool
	}{
		{"somebody", usual, &core.OSUser{UID: 1001, Name: "ann"}, Wish{}, "1001 1001 [27 500]", false},
		{"somebody without a name", usual, &core.OSUser{UID: 1001}, Wish{}, "1001 1001 [27 500]", false},
		{"nobody whom the machine knows", usual, nil, Wish{}, "--os-user", true},
		{"an account that is gone", usual, &core.OSUser{UID: 1002, Name: "bob"}, Wish{}, "getent passwd 1002", true},
		{"a number that is another's now", usual, &core.OSUser{UID: 1001, Name: "bob"}, Wish{}, "was bob", true},
		{"root", usual, &core.OSUser{Name: "root"}, Wish{}, "65534 65534 []", false},
		{"root where it is itself", Rule{Root: Itself}, &core.OSUser{Name: "root"}, Wish{}, "0 0 []", false},
		{"root, and nobody is gone", Rule{Root: "gone"}, &core.OSUser{Name: "root"}, Wish{}, `"gone" here (--root-tasks-as)`, true},
		{"root, who is to be root by another name", Rule{Root: "toor"}, &core.OSUser{Name: "root"}, Wish{}, "uid 0 by another name", true},
		{"its own number", usual, &core.OSUser{UID: 1001}, Wish{UID: id(1001), GID: id(1001)}, "1001 1001 [27 500]", false},
		{"another's number", usual, &core.OSUser{UID: 1001}, Wish{UID: id(65534)}, "runAs.user: 65534", true},
		{"root's number", usual, &core.OSUser{UID: 1001}, Wish{UID: id(0)}, "runAs.user: 0", true},
		{"one of its groups", usual, &core.OSUser{UID: 1001}, Wish{GID: id(500)}, "1001 500 [27 500 1001]", false},
		{"another's group", usual, &core.OSUser{UID: 1001}, Wish{GID: id(0)}, "runAs.group: 0", true},
		{"squashed root in root's group", usual, &core.OSUser{}, Wish{GID: id(0)}, "runAs.group: 0", true},
	} {
		a, err := Decide(c.rule, c.who, c.wish, here)
		var no *Refusal
		if c.fails {
			if !errors.As(err, &no) || !strings.Contains(err.Error(), c.want) || a.Name != "" {
				t.Errorf("%s: %+v, %v, want a refusal with %q", c.name, a, err, c.want)
			}
			continue
		}
		if got := fmt.Sprint(a.UID, a.GID, " ", a.Groups); err != nil || got != c.want {
			t.Errorf("%s: %s, %v, want %s", c.name, got, err, c.want)
		}
	}
	if g := here.all[3].Groups; len(g) != 2 {
		t.Errorf("an account was changed: %v", g)
	}
}

// A machine that cannot say who has an account refuses nobody for good.
func TestWhereAccountsCannotBeLookedUp(t *testing.T) {
	broken := errors.New("the directory does not answer")
	_, err := Decide(Rule{Root: "nobody"}, &core.OSUser{UID: 1001}, Wish{}, book{broken: broken})
	var no *Refusal
	if !errors.Is(err, broken) || errors.As(err, &no) {
		t.Errorf("got %v", err)
	}
}

func TestSame(t *testing.T) {
	ann, bob := &core.OSUser{UID: 1, Name: "ann"}, &core.OSUser{UID: 2}
	if !Same(ann, &core.OSUser{UID: 1}) || Same(ann, bob) || Same(nil, nil) || Same(ann, nil) {
		t.Error("who is the same is not told by number")
	}
}

func TestLimitsOf(t *testing.T) {
	const text = `# /etc/security/limits.conf
*            soft  core      0
*            hard  nofile    1048576
@gpu         soft  nofile    4096
ann          -     memlock   unlimited  # RDMA
ann          hard  nproc     200
@gpu         hard  nproc     100
1000:1002    soft  cpu       2
:7           soft  as        1
root         soft  nofile    8
*            hard  maxlogins 3
*            soft  stack     many
@other       soft  rss       1
`
	said := func(user string, uid uint32, groups ...string) string {
		var out []string
		for _, l := range LimitsOf(text, user, uid, groups) {
			word := func(n *uint64) string {
				if n == nil {
					return "-"
				}
				if *n == Unlimited {
					return "inf"
				}
				return fmt.Sprint(*n)
			}
			out = append(out, l.Name+"="+word(l.Soft)+":"+word(l.Hard))
		}
		return strings.Join(out, " ")
	}
	for got, want := range map[string]string{
		said("ann", 1001, "ann", "gpu"): "core=0:- cpu=120:- memlock=inf:inf nofile=4096:1048576 nproc=-:200",
		said("bob", 1003):               "core=0:- nofile=-:1048576",
		said("eve", 7):                  "as=1024:- core=0:- nofile=-:1048576",
		said("root", 0):                 "nofile=8:-",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestMissing(t *testing.T) {
	if got := Missing(^uint64(0)); len(got) != 0 {
		t.Errorf("of all rights are missing %v", got)
	}
	if got := Missing(^uint64(0) &^ (1 << 7)); len(got) != 1 || got[0].Name != "CAP_SETUID" {
		t.Errorf("without CAP_SETUID are missing %v", got)
	}
}

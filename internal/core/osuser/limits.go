package osuser

import (
	"slices"
	"strconv"
	"strings"
)

// Unlimited is a limit that is none.
const Unlimited = ^uint64(0)

// Limit is one of a process's resources: what getrlimit(2) calls soft and hard, in its
// units.
type Limit struct {
	Name string  `json:"name"`           // as prlimit(1) has it: nofile, memlock …
	Soft *uint64 `json:"soft,omitempty"` // nil: as it is
	Hard *uint64 `json:"hard,omitempty"`
}

// items are what limits.conf(5) calls resources, by what prlimit(1) calls them, with
// how many of the latter's units are one of the former's. What it counts over a whole
// session (maxlogins) or as no limit of a process (priority, chroot) is not here.
var items = map[string]struct {
	name string
	unit uint64
}{
	"core": {"core", 1024}, "data": {"data", 1024}, "fsize": {"fsize", 1024}, "memlock": {"memlock", 1024}, "nofile": {"nofile", 1}, "rss": {"rss", 1024},
	"stack": {"stack", 1024}, "cpu": {"cpu", 60}, "nproc": {"nproc", 1}, "as": {"as", 1024}, "locks": {"locks", 1}, "sigpending": {"sigpending", 1}, "msgqueue": {"msgqueue", 1},
}

// LimitsOf reads the limits of an account out of the lines of limits.conf(5), as
// pam_limits(8) would set them: what names the user counts before what names a group,
// that before "*", and of equals the last. groups are the names of the account's
// groups. Root has none that do not name it.
func LimitsOf(text, user string, uid uint32, groups []string) []Limit {
	type side struct {
		rank  int
		value *uint64
	}
	soft, hard := map[string]side{}, map[string]side{}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		f := strings.Fields(line)
		if len(f) != 4 {
			continue
		}
		rank := rankOf(f[0], user, uid, groups)
		item, known := items[f[2]]
		value, ok := valueOf(f[3], item.unit)
		if rank == 0 || !known || !ok {
			continue
		}
		set := func(m map[string]side) {
			if was := m[item.name]; rank >= was.rank {
				m[item.name] = side{rank, &value}
			}
		}
		switch f[1] {
		case "soft":
			set(soft)
		case "hard":
			set(hard)
		case "-":
			set(soft)
			set(hard)
		}
	}
	var out []Limit
	for _, item := range items {
		if s, h := soft[item.name].value, hard[item.name].value; s != nil || h != nil {
			out = append(out, Limit{item.name, s, h})
		}
	}
	slices.SortFunc(out, func(a, b Limit) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// rankOf is how much a domain of limits.conf means a user: 3 by name, 2 by group, 1 as
// everybody; 0: not at all.
func rankOf(domain, user string, uid uint32, groups []string) int {
	group, ofGroup := strings.CutPrefix(domain, "@")
	low, high, span := strings.Cut(domain, ":")
	switch {
	case domain == user:
		return 3
	case span && !ofGroup && inSpan(low, high, uid):
		return 3
	case ofGroup && slices.Contains(groups, group):
		return 2
	case domain == "*" && uid != 0:
		return 1
	}
	return 0
}

func inSpan(low, high string, uid uint32) bool {
	number := func(s string, otherwise uint64) uint64 {
		n, err := strconv.ParseUint(s, 10, 32)
		if err != nil {
			return otherwise
		}
		return n
	}
	if low == "" && high == "" {
		return false
	}
	if low == "" { // ":MAX" is that one user
		return uint64(uid) == number(high, Unlimited)
	}
	return uint64(uid) >= number(low, Unlimited) && uint64(uid) <= number(high, Unlimited)
}

func valueOf(text string, unit uint64) (uint64, bool) {
	switch text {
	case "unlimited", "infinity", "-1":
		return Unlimited, true
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || unit > 0 && n > Unlimited/max(unit, 1) {
		return 0, false
	}
	return n * unit, true
}

package container

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// User is who a task runs as.
type User struct {
	UID, GID uint32
	Groups   []uint32 // further ones
	Home     string
}

// entry is a line of /etc/passwd or /etc/group.
type entry struct {
	name    string
	id      uint32
	group   uint32
	home    string
	members []string
}

func passwd(text string) []entry {
	return entries(text, 6, func(f []string) (entry, bool) {
		gid, ok := number(f[3])
		return entry{group: gid, home: f[5]}, ok
	})
}

func groups(text string) []entry {
	return entries(text, 4, func(f []string) (entry, bool) {
		return entry{members: strings.Split(f[3], ",")}, true
	})
}

func entries(text string, fields int, rest func([]string) (entry, bool)) []entry {
	var all []entry
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) < fields || strings.HasPrefix(f[0], "#") {
			continue
		}
		id, ok := number(f[2])
		e, more := rest(f)
		if !ok || !more || f[0] == "" {
			continue // a line that the C library skips too
		}
		e.name, e.id = f[0], id
		all = append(all, e)
	}
	return all
}

func number(s string) (uint32, bool) {
	n, err := strconv.ParseUint(s, 10, 32)
	return uint32(n), err == nil
}

// FindUser decides who runs: the ids that were asked for, else the user that
// the image names, else root. users and members are the image's /etc/passwd and
// /etc/group. A number need not be listed: as the user of an image its group is
// then 0, as one that was asked for, the same number.
func FindUser(named string, uid, gid *uint32, users, members string) (User, error) {
	known, listed := passwd(users), groups(members)
	u := User{Home: "/"}
	byID := func(id uint32, group uint32) string {
		u.UID, u.GID = id, group
		if i := slices.IndexFunc(known, func(e entry) bool { return e.id == id }); i >= 0 {
			u.GID, u.Home = known[i].group, known[i].home
			return known[i].name
		}
		return ""
	}
	name, group := "", ""
	if uid != nil {
		name = byID(*uid, *uid)
	} else {
		var who string
		who, group, _ = strings.Cut(named, ":")
		i := slices.IndexFunc(known, func(e entry) bool { return e.name == who })
		id, isNumber := number(who)
		switch {
		case who == "":
			name = byID(0, 0)
		case i >= 0:
			name, u.UID, u.GID, u.Home = who, known[i].id, known[i].group, known[i].home
		case isNumber:
			name = byID(id, 0)
		default:
			return u, fmt.Errorf("the image's user %q is not in its /etc/passwd; name a user id with runAs", who)
		}
	}
	for _, g := range listed {
		if name != "" && slices.Contains(g.members, name) {
			u.Groups = append(u.Groups, g.id)
		}
	}
	if gid != nil {
		u.GID = *gid
	} else if group != "" {
		i := slices.IndexFunc(listed, func(e entry) bool { return e.name == group })
		id, isNumber := number(group)
		switch {
		case i >= 0:
			u.GID = listed[i].id
		case isNumber:
			u.GID = id
		default:
			return u, fmt.Errorf("the image's group %q is not in its /etc/group; name a group id with runAs", group)
		}
	}
	if u.Home == "" {
		u.Home = "/"
	}
	return u, nil
}

// HasID reports whether the text of an image's /etc/passwd or /etc/group has an entry
// of a number.
func HasID(text string, id uint32) bool {
	all := entries(text, 3, func([]string) (entry, bool) { return entry{}, true })
	return slices.ContainsFunc(all, func(e entry) bool { return e.id == id })
}

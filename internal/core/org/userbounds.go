package org

import (
	"strings"

	"github.com/musterhq/muster/internal/core"
)

// nameLongest bounds names of users.
const nameLongest = 200

// CheckUserBound says why what a user may have over all projects cannot be as it is.
func CheckUserBound(b *core.UserBound) error {
	if n := len(b.User); n == 0 || n > nameLongest || strings.ContainsFunc(b.User, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '/' }) {
		return wrong("name", "write the name of a user, or * for each who has no limit of their own", "%q is not the name of a user", b.User)
	}
	if b.UserLimit == (core.UserLimit{}) {
		return wrong("gpu", "say at least one of gpu, maxRunning and maxQueued, or delete it", "nothing is bounded")
	}
	for _, n := range []struct {
		field string
		n     int
	}{{"maxRunning", b.MaxRunning}, {"maxQueued", b.MaxQueued}} {
		if n.n < 0 {
			return wrong(n.field, "write 1 or more, or leave it out for any", "%d is less than 0", n.n)
		}
	}
	return amount("gpu", b.GPU)
}

package server_test

import "testing"

// TestEveryNeedHasARoute: what is said of routes is about those that there are.
func TestEveryNeedHasARoute(t *testing.T) {
	for _, r := range newWorld(t).server.Routes() {
		if !r.Served {
			t.Errorf("internal/server/access/needs.go knows %q, which no route is", r.Pattern)
		}
	}
}

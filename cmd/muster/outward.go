package main

import (
	"net/http"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/core/address"
	"github.com/musterhq/muster/internal/outward"
)

// callWithin bounds how long a check's receiver may take to be connected to.
const callWithin = 30 * time.Second

// guardOf is whom the server calls when others name addresses. Its own registry is
// named by who runs it.
func guardOf(o cli.ServerOptions) (*outward.Guard, error) {
	allow := o.AllowAddresses
	if host, _, _ := strings.Cut(o.Registry, "/"); host != "" {
		if _, err := address.ParseEntry(host); err == nil {
			allow = append([]string{host}, allow...)
		}
	}
	rules, err := address.ParseRules(allow, o.RefuseAddresses)
	if err != nil {
		return nil, precondition(err.Error(), "name several with a comma, or the flag again")
	}
	var names []string
	if o.Advertise != "" {
		names = append(names, o.Advertise)
	}
	g := outward.New(rules, names...)
	return g, nil
}

// guarded is a client for web hooks of checks.
func guarded(g *outward.Guard) *http.Client {
	return &http.Client{Transport: g.Transport(http.DefaultTransport.(*http.Transport).Clone(), callWithin)}
}

package main

import (
	"fmt"
	"os"
	"time"

	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/signing"
)

// placeOf is where a flag says that keys are which sign something.
func placeOf(o cli.ServerOptions, flag, text string) (*signing.Place, error) {
	v, _, err := vaultOf(o)
	if err != nil {
		return nil, err
	}
	var of signing.Fielder
	if v != nil {
		of = v
	}
	p, err := signing.At(text, of)
	if err != nil {
		return nil, precondition(fmt.Sprintf("--%s: %v", flag, err), "add --secrets-vault FILE, or name a path of this machine")
	}
	return p, nil
}

// checkKeys finds the keys of checks that whoever runs the server has for them; nil: they
// are kept nowhere.
func checkKeys(o cli.ServerOptions) (func(core.ProjectID, string) (string, error), error) {
	if o.CheckKeys == "" {
		return nil, nil
	}
	p, err := placeOf(o, "check-keys", o.CheckKeys)
	if err != nil {
		return nil, err
	}
	if !p.Vault() {
		if info, err := os.Stat(o.CheckKeys); err != nil || !info.IsDir() {
			return nil, precondition(fmt.Sprintf("--check-keys: %s is no directory", o.CheckKeys), "name one with a file for each check, such as vision.gate, or vault:PATH")
		}
	}
	return func(scope core.ProjectID, name string) (string, error) {
		return p.Of(string(scope)+"."+name, time.Now())
	}, nil
}

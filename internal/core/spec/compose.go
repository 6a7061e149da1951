package spec

import (
	"fmt"
	"slices"
)

// MadeOf begins the annotations of a workload that say of which template and of
// which environment it was made: MadeOf + "template" is NAME@VERSION.
const MadeOf = "muster.dev/"

// Piece is a part of a document that is kept under a name.
type Piece struct {
	Name        string
	Version     int
	Environment string // that it builds upon; empty: none
	Document    *Document
}

// Compose is what a document is laid over that is made of a template and an
// environment, of which either may be empty. take finds what is kept as kind
// "template" or "environment". An environment that is named goes before the
// template, and the template before the environment that it builds upon.
func Compose(template, environment string, take func(kind, ref string) (Piece, error)) (*Document, error) {
	var parts []*Document
	add := func(kind, ref string) (Piece, error) {
		p, err := take(kind, ref)
		if err != nil {
			return p, err
		}
		doc := p.Document.Clone()
		if doc.Annotations == nil {
			doc.Annotations = map[string]string{}
		}
		doc.Annotations[MadeOf+kind] = fmt.Sprintf("%s@%d", p.Name, p.Version)
		parts = append(parts, doc)
		return p, nil
	}
	under := ""
	if template != "" {
		t, err := add("template", template)
		if err != nil {
			return nil, err
		}
		under = t.Environment
	}
	if environment == "" {
		environment = under
	} else {
		under = ""
	}
	if environment != "" {
		if _, err := add("environment", environment); err != nil {
			return nil, err
		}
	}
	if under != "" {
		slices.Reverse(parts)
	}
	base := new(Document)
	for _, part := range parts {
		var err error
		if base, err = Overlay(base, part); err != nil {
			return nil, err
		}
	}
	return base, nil
}

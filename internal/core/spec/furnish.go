package spec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core/spec/codec"
)

// furnish puts what the data sources and data volumes of d say beside what d
// says itself. Lists get longer; of a variable or a secret what the document
// says holds. Two that would lie at one place are refused.
func (d *Document) furnish(take Resolve, from Origins) error {
	if len(d.Data) == 0 {
		return nil
	}
	uses := d.Data
	d.Data = nil
	f := furnisher{doc: d, from: from, places: map[string]string{}, own: maps.Clone(d.Env)}
	for i := range d.Volumes {
		at := fmt.Sprintf("volumes[%d]", i)
		who := "the document, in " + at
		if p := from.Of(at); p != nil {
			who = p.String()
		}
		f.places[place(d.Volumes[i].Path)] = who
	}
	var refs []string
	var clones []Integration
	for i, use := range uses {
		p, err := find(take, fmt.Sprintf("data[%d].name", i), AssetData, use.Name)
		if err != nil {
			return err
		}
		f.volumes(i, use, &p)
		f.variables(i, &p)
		for _, s := range p.Document.Secrets {
			if !slices.ContainsFunc(d.Secrets, func(o SecretUse) bool { return o.Name == s.Name }) {
				from[fmt.Sprintf("secrets[%d]", len(d.Secrets))] = &p
				d.Secrets = append(d.Secrets, s)
			}
		}
		for _, g := range p.Document.Integrations {
			if use.Path != "" && g.Git != nil { // it is refused, since that lies below the working directory
				continue
			}
			clones = append(clones, g)
		}
		refs = append(refs, p.Ref())
	}
	// Clones come before what the document does on its nodes, which may need them.
	d.Integrations = slices.Concat(clones, d.Integrations)
	d.note(AssetData, strings.Join(refs, ","))
	return f.errs.OrNil()
}

// furnisher is a document that is given data.
type furnisher struct {
	doc    *Document
	from   Origins
	places map[string]string // by path in the container: whose it is
	own    map[string]string // variables that the document says
	errs   codec.Errors
}

func place(path string) string { return strings.TrimRight(path, "/") }

func (f *furnisher) volumes(i int, use DataUse, p *Piece) {
	at := fmt.Sprintf("data[%d]", i)
	if n := len(p.Document.Volumes); use.Path != "" && n != 1 {
		f.errs.Add(codec.FieldError{Path: at + ".path", Value: use.Path, Problem: fmt.Sprintf("%s has %d volumes, and one path is for one", p, n), Hint: "leave path out, and change it in the " + AssetWord(p.Kind)})
		return
	}
	for _, v := range p.Document.Volumes {
		if use.Path != "" {
			v.Path = use.Path
		}
		v.ReadOnly = v.ReadOnly || use.ReadOnly || p.ReadOnly
		if who, taken := f.places[place(v.Path)]; taken {
			f.errs.Add(codec.FieldError{Path: at + ".path", Value: v.Path, Problem: fmt.Sprintf("%s lies at %s, where %s has something already", p, v.Path, who), Hint: fmt.Sprintf("give it another place, as {name: %s, path: /elsewhere}, or leave one of the two out", use.Name)})
			continue
		}
		f.places[place(v.Path)] = p.String()
		f.from[fmt.Sprintf("volumes[%d]", len(f.doc.Volumes))] = p
		f.doc.Volumes = append(f.doc.Volumes, v)
	}
}

func (f *furnisher) variables(i int, p *Piece) {
	for _, name := range slices.Sorted(maps.Keys(p.Document.Env)) {
		value := p.Document.Env[name]
		if _, given := f.own[name]; given {
			continue
		}
		if was, twice := f.doc.Env[name]; twice && was != value {
			f.errs.Add(codec.FieldError{Path: fmt.Sprintf("data[%d].name", i), Value: p.Name, Problem: fmt.Sprintf("%s sets %s otherwise than %s", p, name, f.from.Of("env."+name)), Hint: "say in env which value holds, or leave one of the two out"})
			continue
		}
		if f.doc.Env == nil {
			f.doc.Env = map[string]string{}
		}
		f.doc.Env[name] = value
		f.from["env."+name] = p
	}
}

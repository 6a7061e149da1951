package runai

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
)

// unset stands before the name of a variable of the submitter's shell, which no file
// tells, in the value of a variable of the workload.
const unset = "\x00"

// variableFlags are those that give the workload a variable.
var variableFlags = []string{"-e", "--environment", "--environment-variable"}

// unsetValue is a word that gives a variable of the workload the value of one that the
// file does not set, and nothing else: -e TOKEN=$TOKEN. before is the word before it.
func (s *script) unsetValue(a *syntax.Word, before string) (text string, ok bool) {
	parts := a.Parts
	if len(parts) == 1 {
		if q, quoted := parts[0].(*syntax.DblQuoted); quoted {
			parts = q.Parts
		}
	}
	if len(parts) != 2 {
		return "", false
	}
	head, literal := parts[0].(*syntax.Lit)
	tail := parts[1]
	if q, quoted := tail.(*syntax.DblQuoted); quoted && len(q.Parts) == 1 {
		tail = q.Parts[0]
	}
	p, parameter := tail.(*syntax.ParamExp)
	if !literal || !parameter || !strings.HasSuffix(head.Value, "=") {
		return "", false
	}
	flag, name, joined := strings.Cut(strings.TrimSuffix(head.Value, "="), "=")
	given := !joined && slices.Contains(variableFlags, before) || joined && name != "" && slices.Contains(variableFlags[1:], flag)
	simple := p.Exp == nil && p.Slice == nil && p.Repl == nil && p.Index == nil && !p.Excl && !p.Length
	_, known := s.unknown[p.Param.Value]
	if _, set := s.vars[p.Param.Value]; !given || !simple || known || set || !variableName(p.Param.Value) {
		return "", false
	}
	return head.Value + unset + p.Param.Value, true
}

// variableName reports whether a parameter of the shell is a variable, not one of its own
// such as $1 and $?.
func variableName(name string) bool {
	return name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") == "" && (name[0] < '0' || name[0] > '9')
}

// variable is a variable of the workload, or the secret that is one.
func (g *given) variable() {
	name, text, _ := strings.Cut(g.value, "=")
	of, is := strings.CutPrefix(text, unset)
	if !is {
		g.pair(&g.s.doc.Env, "env")
		return
	}
	g.value = name + "=$" + of
	secret := source.NameFrom(of, 52)
	g.s.doc.Secrets = append(g.s.doc.Secrets, spec.SecretUse{Name: secret, Env: name})
	g.translated(fmt.Sprintf("secrets[%d]", len(g.s.doc.Secrets)-1), "a variable of whoever submits: muster secret create "+secret+" makes it, or --env "+name+"=value says it")
}

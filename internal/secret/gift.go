package secret

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
)

// gitKey is the variable that holds the path of the key that git uses.
const gitKey = "MUSTER_GIT_KEY"

// Gift is what a task gets of one secret. Printed, it shows names only.
type Gift struct {
	Secret string
	Env    map[string]string
	// Files have names that no other secret's have; EnvVar holds where each is.
	Files []backend.File
	// Credential opens a registry for the backend; the task itself sees nothing.
	Credential *backend.Credential
	// Prelude is lines for /bin/sh that run before the command, for variables
	// that follow from where files are, which only the backend knows.
	Prelude string
}

// Give says what a task gets of s, whose values have been unsealed. use may
// name another variable or path than the type's own, where that makes sense.
func Give(s core.Secret, values map[string][]byte, use spec.SecretUse) (Gift, error) {
	t, ok := typeOf(s.Type)
	if !ok {
		return Gift{}, fmt.Errorf("secret %q: its type %q is unknown to this version; run the one that made it, or make it anew", s.Name, s.Type)
	}
	if err := t.allows(use); err != nil {
		return Gift{}, fmt.Errorf("secret %q of type %s: %w", s.Name, s.Type, err)
	}
	for _, p := range t.Values {
		if _, there := values[p.Name]; !there && !p.Optional {
			return Gift{}, fmt.Errorf("secret %q of type %s: its value %q is missing; make it anew", s.Name, s.Type, p.Name)
		}
	}
	g := Gift{Secret: s.Name}
	for _, v := range t.variables {
		name, text := v.name, string(values[v.from])
		if _, secret := values[v.from]; !secret {
			text = s.Fields[v.from]
		}
		if name == "" {
			name = s.Fields["variable"]
		}
		if use.Env != "" {
			name = use.Env
		}
		g.set(name, text)
	}
	g.files(t, s, values, use)
	switch s.Type {
	case "docker":
		g.Credential = &backend.Credential{Server: s.Fields["server"], User: s.Fields["username"], Password: string(values["password"])}
	case "git-ssh":
		// git runs this by a shell, in the task's environment: it sees the path.
		g.set("GIT_SSH_COMMAND", `ssh -i "$`+g.Files[0].EnvVar+`" -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=accept-new`)
	case "oci":
		g.Prelude = ociPrelude
	}
	return g, nil
}

// allows checks what a document says about the use of a secret.
func (t Type) allows(use spec.SecretUse) error {
	if use.Env != "" {
		if !t.env {
			return errors.New("env cannot name its variable, because it has none or several; leave it out")
		}
		if _, err := variableName([]byte(use.Env)); err != nil {
			return fmt.Errorf("env %q %w", shorten(use.Env), err)
		}
	}
	if use.Path != "" {
		if !t.path {
			return errors.New("path makes no sense, because it is no file; leave it out")
		}
		if _, err := absolutePath([]byte(use.Path)); err != nil {
			return fmt.Errorf("path %q %w", shorten(use.Path), err)
		}
	}
	return nil
}

func (g *Gift) set(name, text string) {
	if g.Env == nil {
		g.Env = map[string]string{}
	}
	g.Env[name] = text
}

// files adds those of a type. A single one is at the path itself, several are
// in a folder of that path.
func (g *Gift) files(t Type, s core.Secret, values map[string][]byte, use spec.SecretUse) {
	single := len(t.files) == 1
	at := use.Path
	if at == "" {
		at = s.Fields["path"]
	}
	if at == "" {
		at = "/secrets/" + s.Name
		if single {
			at += "/secret"
		}
	}
	for _, f := range t.files {
		data, there := values[f.value]
		if !there {
			continue
		}
		one := backend.File{Name: "secret." + s.Name, EnvVar: f.variable, Path: at, Data: data}
		if strings.Contains(one.EnvVar, "%s") {
			one.EnvVar = fmt.Sprintf(f.variable, strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_")))
		}
		if use.Env != "" {
			one.EnvVar = use.Env
		}
		if !single {
			one.Name += "." + f.leaf
			one.Path = path.Join(at, f.leaf)
		}
		if use.Env != "" || use.Path != "" { // it may be given as usual, too
			sum := sha256.Sum256([]byte(use.Env + "\x00" + use.Path))
			one.Name += "." + hex.EncodeToString(sum[:4])
		}
		g.Files = append(g.Files, one)
	}
}

// ociPrelude makes a config that names the key where it is in this task: OCI's
// libraries take the key from nowhere else. It needs no program but a shell
// and mktemp, without which the config stays as it was given; no value passes
// through arguments.
const ociPrelude = `if muster_oci=$(umask 077; mktemp "$OCI_CONFIG_FILE.XXXXXX" 2>/dev/null || mktemp); then
  while IFS= read -r muster_line || [ -n "$muster_line" ]; do
    case $muster_line in
      key_file*=*) printf 'key_file=%s\n' "$OCI_CLI_KEY_FILE" ;;
      *) printf '%s\n' "$muster_line" ;;
    esac
  done <"$OCI_CONFIG_FILE" >"$muster_oci" && OCI_CONFIG_FILE=$muster_oci
fi
export OCI_CONFIG_FILE OCI_CLI_CONFIG_FILE="$OCI_CONFIG_FILE"
unset muster_oci muster_line
`

// Clash refuses gifts that cannot be given to one task together: two that set
// one variable, or that put a file in the same place.
func Clash(gifts []Gift) error {
	variables, places := map[string]string{}, map[string]string{}
	claim := func(owners map[string]string, what, name, secret string) error {
		if other, taken := owners[name]; taken {
			return fmt.Errorf("secrets %q and %q both set %s %s; use one of them, or give one another env or path", other, secret, what, name)
		}
		owners[name] = secret
		return nil
	}
	for _, g := range gifts {
		for _, name := range slices.Sorted(maps.Keys(g.Env)) {
			if err := claim(variables, "the variable", name, g.Secret); err != nil {
				return err
			}
		}
		for _, f := range g.Files {
			if err := errors.Join(claim(variables, "the variable", f.EnvVar, g.Secret), claim(places, "the file", f.Path, g.Secret)); err != nil {
				return err
			}
		}
	}
	return nil
}

// String is the names of what is given.
func (g Gift) String() string {
	parts := slices.Sorted(maps.Keys(g.Env))
	for _, f := range g.Files {
		parts = append(parts, f.EnvVar+"="+f.Path)
	}
	if g.Credential != nil {
		parts = append(parts, "credential")
	}
	return "secret " + g.Secret + "(" + strings.Join(parts, ", ") + ")"
}

// Format writes String, whatever the verb.
func (g Gift) Format(f fmt.State, _ rune) { fmt.Fprint(f, g.String()) }

// MarshalJSON writes String: a gift goes to a backend and nowhere else.
func (g Gift) MarshalJSON() ([]byte, error) { return json.Marshal(g.String()) }

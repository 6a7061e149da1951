package document

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/cli/session"
)

// lists are the flags that add to the lists of a document.
func (d *DocumentFlags) lists() ([]Change, error) {
	var all []Change
	add := func(flag, path string, values []string, read func(string) (map[string]any, error)) error {
		for _, text := range values {
			v, err := read(text)
			if err != nil {
				return err
			}
			all = append(all, Change{Path: path, Value: v, Flag: flag, add: true})
		}
		return nil
	}
	if err := add("--secret", "secrets", d.secrets, readSecretUse); err != nil {
		return nil, err
	}
	if err := add("--volume", "volumes", d.volumes, readVolume); err != nil {
		return nil, err
	}
	if err := add("--data", "data", d.data, readDataUse); err != nil {
		return nil, err
	}
	if err := add("--port", "ports", d.ports, readPort); err != nil {
		return nil, err
	}
	if err := add("--after", "after", d.after, readAfter); err != nil {
		return nil, err
	}
	return all, add("--check", "checks", d.checks, ReadCheck)
}

func readAfter(text string) (map[string]any, error) {
	name, when, has := strings.Cut(text, "=")
	if name == "" || has && when == "" {
		return nil, session.UsageError(fmt.Sprintf("--after %s: is not WORKLOAD or WORKLOAD=WHEN", text), "write --after prepare, or --after prepare=ended; it may have succeeded, failed, ended or started")
	}
	out := map[string]any{"workload": name}
	if has {
		out["when"] = when
	}
	return out, nil
}

func readSecretUse(text string) (map[string]any, error) {
	name, variable, has := strings.Cut(text, "=")
	if name == "" || has && variable == "" {
		return nil, session.UsageError(fmt.Sprintf("--secret %s: is not NAME or NAME=VARIABLE", text), "muster secret list shows your secrets")
	}
	out := map[string]any{"name": name}
	if has {
		out["env"] = variable
	}
	return out, nil
}

// readDataUse reads NAME[:PATH[:ro]].
func readDataUse(text string) (map[string]any, error) {
	parts := strings.Split(text, ":")
	if parts[0] == "" || len(parts) > 3 || len(parts) > 1 && !strings.HasPrefix(parts[1], "/") || len(parts) == 3 && parts[2] != "ro" {
		return nil, session.UsageError(fmt.Sprintf("--data %s: is not NAME, NAME:PATH or NAME:PATH:ro", text), "write --data imagenet, or --data imagenet:/data:ro; muster datasource list and muster datavolume list show what there is")
	}
	out := map[string]any{"name": parts[0]}
	if len(parts) > 1 {
		out["path"] = parts[1]
	}
	if len(parts) > 2 {
		out["readOnly"] = true
	}
	return out, nil
}

// readVolume reads HOSTPATH:PATH[:ro]. A relative host path is below the
// present directory, as for a process it would be.
func readVolume(text string) (map[string]any, error) {
	wrong := func(what string) error {
		return session.UsageError(fmt.Sprintf("--volume %s: %s", text, what), "write HOSTPATH:PATH or HOSTPATH:PATH:ro, like /srv/data:/data:ro")
	}
	parts := strings.Split(text, ":")
	if len(parts) < 2 || len(parts) > 3 || parts[0] == "" || parts[1] == "" {
		return nil, wrong("is not HOSTPATH:PATH")
	}
	host := parts[0]
	if !filepath.IsAbs(host) {
		var err error
		if host, err = filepath.Abs(host); err != nil {
			return nil, wrong(err.Error())
		}
	}
	out := map[string]any{"hostPath": host, "path": parts[1]}
	if len(parts) == 3 {
		switch parts[2] {
		case "ro":
			out["readOnly"] = true
		case "rw":
		default:
			return nil, wrong(strconv.Quote(parts[2]) + " is neither ro nor rw")
		}
	}
	return out, nil
}

func readPort(text string) (map[string]any, error) {
	name, number, has := strings.Cut(text, "=")
	if !has {
		name, number = "", text
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > 65535 || has && name == "" {
		return nil, session.UsageError(fmt.Sprintf("--port %s: is not PORT or NAME=PORT", text), "a number from 1 to 65535, like 8888 or jupyter=8888")
	}
	out := map[string]any{"port": n}
	if has {
		out["name"] = name
	}
	return out, nil
}

// checkWords are the fields of a check; users are joined with +.
var checkWords = []string{"name", "type", "when", "users", "url", "timeout", "deadline"}

// ReadCheck reads name=legal,type=approval,users=ann+bob. What the fields may
// hold is the document's to say.
func ReadCheck(text string) (map[string]any, error) {
	out := map[string]any{}
	for part := range strings.SplitSeq(text, ",") {
		word, value, ok := strings.Cut(part, "=")
		if word = strings.TrimSpace(word); !ok || value == "" || !slices.Contains(checkWords, word) {
			return nil, session.UsageError(fmt.Sprintf("--check %s: %q is not understood", text, part), "write name=legal,type=approval,users=ann+bob; the words are "+strings.Join(checkWords, ", "))
		}
		if _, twice := out[word]; twice {
			return nil, session.UsageError(fmt.Sprintf("--check %s: %s stands twice", text, word), "join users with +")
		}
		if out[word] = value; word == "users" {
			out[word] = strings.Split(value, "+")
		}
	}
	if out["type"] == nil { // with a place to ask it is a web hook, else a person
		if out["type"] = "approval"; out["url"] != nil {
			out["type"] = "webhook"
		}
	}
	if out["name"] == nil {
		return nil, session.UsageError(fmt.Sprintf("--check %s: has no name", text), "write name=legal,type=approval")
	}
	return out, nil
}

package kubernetes

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// nameOf is metadata.name of an object, which stays untaken.
func nameOf(o *source.Map) string {
	if m := source.Entry(o.Tree, "metadata"); m != nil {
		return entryText(m, "name")
	}
	return ""
}

// readConfig reads a ConfigMap, whose files are in the documents of whoever mounts it.
func readConfig(k *reader, o *source.Map) {
	files := map[string]string{}
	if v := o.Consume("data"); v != nil {
		names, values := v.Pairs()
		for i, n := range names {
			files[n] = values[i].Text()
		}
		v.Translated("volumes", "the files of a volume")
	}
	names, values := o.Consume("binaryData").Pairs()
	for i, n := range names {
		data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(values[i].Text()), ""))
		switch {
		case err != nil:
			values[i].Refuse("is not base64", "write data instead")
		case !utf8.Valid(data):
			values[i].Dropped("files of documents are text")
		default:
			files[n] = string(data)
			values[i].Translated("volumes", "the files of a volume")
		}
	}
	k.configs[nameOf(o)] = files
	for _, n := range []string{"apiVersion", "kind", "metadata"} {
		o.Consume(n).Ignored("its files are in the document of whoever mounts it")
	}
	o.Finish(source.Reasons{"immutable": "documents keep their files"}, nil, false)
}

// secretNames notes which keys a Secret has.
func secretNames(k *reader, o *source.Map) {
	name := nameOf(o)
	for _, field := range []string{"data", "stringData"} {
		if m := source.Entry(o.Tree, field); m != nil {
			for _, key := range m.Names {
				noteUse(k, name, key)
				if !slices.Contains(k.secretKeys[name], key) {
					k.secretKeys[name] = append(k.secretKeys[name], key)
				}
			}
		}
	}
}

// readSecret passes over a Secret: its values are never taken over.
func readSecret(k *reader, o *source.Map) {
	name := nameOf(o)
	makes := source.Shorten(name)
	if keys := k.secrets[name]; len(keys) > 1 {
		makes = "of each key a secret"
		for _, key := range keys[:min(10, len(keys))] {
			makes += ", " + source.Shorten(secretOf(k, name, key))
		}
	}
	k.Note(source.Note{Line: o.Tree.Line, Last: source.LastLine(o.Tree), Field: "Secret", Fate: source.Ignored, Reason: "values of secrets are never in documents; muster secret create makes " + makes})
}

// noteUse notes that a key of a secret is used.
func noteUse(k *reader, secret, key string) {
	if !slices.Contains(k.secrets[secret], key) {
		k.secrets[secret] = append(k.secrets[secret], key)
	}
}

// findSecrets notes which keys of secrets the variables of a file refer to. A
// readSecret here is one value: one of which several keys are used is several.
func findSecrets(k *reader, t *codec.Tree) {
	for i, name := range t.Names {
		if name == "secretKeyRef" {
			noteUse(k, entryText(&t.Items[i], "name"), entryText(&t.Items[i], "key"))
		}
	}
	for i := range t.Items {
		findSecrets(k, &t.Items[i])
	}
}

// secretOf is the secret that holds the value of a key.
func secretOf(k *reader, secret, key string) string {
	if len(k.secrets[secret]) > 1 && key != "" {
		return source.NameFrom(secret+"-"+key, spec.MaxName)
	}
	return secret
}

// readEnvFrom reads variables that are all of a ConfigMap or Secret.
func readEnvFrom(k *reader, item *source.Value, doc *spec.Document) {
	e := item.Map()
	prefix := e.Consume("prefix").Text()
	if c := e.Map("configMapRef"); c != nil {
		v := c.Consume("name")
		optional := c.Consume("optional").Bool()
		files, here := k.configs[v.Text()]
		c.Finish(nil, nil, false)
		e.Finish(nil, nil, false)
		switch {
		case here:
			for name, text := range files {
				if _, given := doc.Env[prefix+name]; !given { // env wins over envFrom
					doc.Env = source.Set(doc.Env, prefix+name, text)
				}
			}
			item.Translated("env", "the ConfigMap is in the file")
		case optional:
			item.Ignored("it may be missing")
		default:
			item.Dropped("the ConfigMap is not in the file; write env")
		}
		return
	}
	c := e.Map("secretRef")
	secret := c.Consume("name").Text()
	keys, optional := k.secretKeys[secret], c.Consume("optional").Bool()
	if c != nil {
		c.Finish(nil, nil, false)
	}
	e.Finish(nil, nil, false)
	switch {
	case len(keys) > 0:
		for _, key := range keys {
			doc.Secrets = append(doc.Secrets, spec.SecretUse{Name: secretOf(k, secret, key), Env: prefix + key})
		}
		item.Translated("secrets", "a secret for each key of the Secret in the file")
	case optional:
		item.Ignored("it may be missing")
	default:
		item.Dropped("the Secret is not in the file, so its keys are not known; write secrets by name")
	}
}

// secretFiles are the files of a volume of a Secret: path by key.
func secretFiles(k *reader, o *source.Map, name string) map[string]string {
	files := map[string]string{}
	items := o.Consume("items")
	for _, item := range items.List() {
		e := item.Map()
		files[e.Consume("key").Text()] = e.Consume("path").Text()
		e.Finish(source.Reasons{"mode": "its file is for its user only"}, nil, false)
	}
	if items == nil {
		for _, key := range k.secretKeys[name] {
			files[key] = key
		}
	}
	return files
}

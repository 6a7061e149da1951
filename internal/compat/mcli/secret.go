package mcli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
)

// part is a part of a secret that a flag gives.
type part struct {
	flag, value, field string // flag → value, or → field
	file               bool
	needed             bool
}

// secretTypes are what `mcli create secret` knows; main is the value of the
// word behind it.
var secretTypes = []struct {
	name, main string
	file       bool // that word is a file
	pair       bool // it is NAME=VALUE
	parts      []part
}{
	{name: "env", main: "value", pair: true},
	{name: "mounted", main: "value", pair: true, parts: []part{{flag: "mount-path", field: "path"}}},
	{name: "docker", parts: []part{{flag: "username", field: "username", needed: true}, {flag: "password", value: "password", needed: true}, {flag: "server", field: "server"}}},
	{name: "ssh", main: "key", file: true, parts: []part{{flag: "mount-path", field: "path"}}},
	{name: "git-ssh", main: "key", file: true, parts: []part{{flag: "mount-path", field: "path"}}},
	{name: "sftp-ssh", main: "key", file: true, parts: []part{{flag: "mount-path", field: "path"}, {flag: "known-hosts-file", value: "known-hosts", file: true}}},
	{name: "s3", parts: []part{{flag: "config-file", value: "config", file: true, needed: true}, {flag: "credentials-file", value: "credentials", file: true, needed: true}, {flag: "mount-path", field: "path"}}},
	{name: "gcp", main: "credentials", file: true, parts: []part{{flag: "credentials-file", value: "credentials", file: true}, {flag: "mount-path", field: "path"}}},
	{name: "oci", parts: []part{{flag: "config-file", value: "config", file: true, needed: true}, {flag: "key-file", value: "key", file: true, needed: true}}},
	{name: "databricks", parts: []part{{flag: "host", field: "host", needed: true}, {flag: "token", value: "token", needed: true}}},
	{name: "hf", main: "token", parts: []part{{flag: "token", value: "token"}}},
}

func createSecret() *compat.Command {
	cmd := &compat.Command{Use: "secret", Also: "secrets s", Short: "Store a secret, which every run of yours is given"}
	for _, t := range secretTypes {
		flags := []compat.Flag{{Names: "name", Arg: "NAME", Does: "its name"}}
		for _, p := range t.parts {
			f := compat.Flag{Names: p.flag, Arg: "TEXT", Does: "its " + cmp.Or(p.field, p.value)}
			if p.file {
				f.Arg, f.Does = "FILE", "file with its "+p.value
			}
			flags = append(flags, f)
		}
		use := t.name
		switch {
		case t.pair:
			use += " NAME=VALUE"
		case t.file:
			use += " FILE"
		case t.main != "":
			use += " [" + strings.ToUpper(t.main) + "]"
		}
		cmd.Sub = append(cmd.Sub, &compat.Command{Use: use, Short: "A secret of type " + t.name, Flags: flags, Most: 1, Run: func(c *compat.Call) error {
			in := api.NewSecret{Type: t.name, Name: cmp.Or(c.Text("name"), t.name), Everywhere: true, Fields: map[string]string{}, Values: map[string][]byte{}}
			if err := mainValue(c, &in, t.main, t.file, t.pair); err != nil {
				return err
			}
			if err := partsOf(c, &in, t.parts); err != nil {
				return err
			}
			conn, err := c.Connect(c.Context)
			if err != nil {
				return err
			}
			done, err := conn.Secrets.Create(c.Context, in)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.Out(), "Created %s secret: %s\n", done.Type, done.Name)
			return err
		}})
	}
	return cmd
}

// mainValue takes the word behind the type.
func mainValue(c *compat.Call, in *api.NewSecret, main string, file, pair bool) error {
	word := c.First()
	switch {
	case main == "" && word != "":
		in.Name = word
	case word == "" && (pair || file && main != "credentials"):
		return cli.Wrong(fmt.Sprintf("%s needs its value", c.Path), c.Path+" --help shows how it is written")
	case word == "":
	case pair:
		key, value, ok := strings.Cut(word, "=")
		if !ok || key == "" || value == "" {
			return cli.Wrong(fmt.Sprintf("%q is not NAME=VALUE", word), "like HF_HOME=/data/hf")
		}
		in.Values[main] = []byte(value)
		if !c.Given("name") {
			in.Name = compat.Name(key)
		}
		if in.Type == "env" {
			in.Fields["variable"] = key
		}
	case file:
		data, err := c.Read(word)
		if err != nil {
			return err
		}
		in.Values[main] = data
	default:
		in.Values[main] = []byte(word)
	}
	return nil
}

func partsOf(c *compat.Call, in *api.NewSecret, parts []part) error {
	for _, p := range parts {
		text := c.Text(p.flag)
		switch {
		case text == "" && p.needed:
			return cli.Wrong(fmt.Sprintf("%s needs --%s", c.Path, p.flag), c.Path+" --help lists the flags")
		case text == "":
		case p.field != "":
			in.Fields[p.field] = text
		case p.file:
			data, err := c.Read(text)
			if err != nil {
				return err
			}
			in.Values[p.value] = data
		default:
			in.Values[p.value] = []byte(text)
		}
	}
	return nil
}

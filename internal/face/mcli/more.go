package mcli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/face"
)

// submitted is a document as it can be submitted again: without what is only
// a default.
func submitted(d *spec.Document) any {
	data, err := json.Marshal(d)
	if err != nil {
		return d
	}
	var fields map[string]any
	if json.Unmarshal(data, &fields) != nil {
		return d
	}
	return fields
}

func diff() *face.Command {
	return &face.Command{
		Use: "diff RUN_A RUN_B", Short: "What the configurations of two runs say differently", Most: 2, Names: true,
		Run: func(c *face.Call) error {
			if len(c.Args) != 2 {
				return cli.Wrong(fmt.Sprintf("%s takes two runs, not %d", c.Path, len(c.Args)), "mcli diff RUN_A RUN_B")
			}
			var sides [2]map[string]string
			for i, name := range c.Args {
				w, err := found(c, name, append(slices.Clone(runKinds), deploymentKinds...))
				if err != nil {
					return err
				}
				sides[i] = map[string]string{}
				flatten("", submitted(cli.Document(w)), sides[i])
			}
			var keys []string
			for _, side := range sides {
				for k := range side {
					if sides[0][k] != sides[1][k] && !slices.Contains(keys, k) {
						keys = append(keys, k)
					}
				}
			}
			slices.Sort(keys)
			if len(keys) == 0 {
				c.Say("There is no difference.")
				return nil
			}
			var rows [][]string
			for _, k := range keys {
				rows = append(rows, []string{k, face.Dash(sides[0][k]), face.Dash(sides[1][k])})
			}
			return c.Table([]string{"FIELD", c.Args[0], c.Args[1]}, rows)
		},
	}
}

// flatten writes every value below its path.
func flatten(path string, v any, out map[string]string) {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			flatten(strings.TrimPrefix(path+"."+k, "."), inner, out)
		}
	case []any:
		for i, inner := range v {
			flatten(fmt.Sprintf("%s[%d]", path, i), inner, out)
		}
	default:
		out[path] = fmt.Sprint(v)
	}
}

func deploy() *face.Command {
	return &face.Command{
		Use: "deploy -f FILE", Short: "Submit a deployment",
		Flags: []face.Flag{
			{Names: "file f", Arg: "FILE", Does: "the deployment's document, of the kind inference; - is standard input"},
			{Names: "name", Arg: "NAME", Does: "its name"},
			{Names: "cluster platform", Arg: "NAME", Does: "the cluster that it runs in"},
			{Names: "image", Arg: "IMAGE", Does: "its image"},
			{Names: "replicas", Arg: "N", Does: "how many replicas"},
			{Names: "gpu-type", Arg: "TYPE", Does: "the type of its GPUs"},
			{Names: "gpus", Arg: "N", Does: "GPUs of each replica"},
		},
		Run: func(c *face.Call) error {
			if !c.Given("file") {
				return cli.Wrong("there is nothing to deploy", "mcli deploy -f FILE")
			}
			doc, err := face.Load(c, c.Text("file"))
			if err != nil {
				return err
			}
			if doc.Kind != lifecycle.Inference {
				return cli.Wrong(fmt.Sprintf("%s is of kind %s", c.Text("file"), cmp.Or(string(doc.Kind), "training")), "a deployment says kind: inference; mcli run -f submits a run")
			}
			var changes []string
			for flag, field := range map[string]string{"name": "name", "image": "image", "replicas": "replicas", "gpu-type": "resources.gpu.type", "gpus": "resources.gpu.count"} {
				if c.Given(flag) {
					changes = append(changes, field+"="+c.Text(flag))
				}
			}
			slices.Sort(changes)
			if c.Given("cluster") {
				doc.Clusters = []string{c.Text("cluster")}
			}
			if doc, err = cli.Edit(doc, changes); err != nil {
				return err
			}
			w, err := c.Submit(c.Context, doc, false)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.Out(), "Deployment %s submitted.\n", w.Name)
			return err
		},
	}
}

// answerLimit bounds how long a deployment may take to answer.
const answerLimit = 5 * time.Minute

// ask sends a request to a deployment and prints what it answers.
func ask(c *face.Call, name, method, path string, body []byte) error {
	w, err := found(c, name, deploymentKinds)
	if err != nil {
		return err
	}
	if w.Replicas == nil || w.Replicas.URL == "" {
		return cli.Conflict(fmt.Sprintf("%s has no address yet: it is %s", w.Name, status(w)), "mcli get deployments shows when it is ready")
	}
	req, err := http.NewRequestWithContext(c.Context, method, strings.TrimSuffix(w.Replicas.URL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := (&http.Client{Timeout: answerLimit}).Do(req)
	if err != nil {
		return cli.Conflict(fmt.Sprintf("%s does not answer: %v", w.Name, err), "mcli logs "+w.Name+" shows what it writes")
	}
	defer resp.Body.Close()
	if _, err := io.Copy(c.Out(), resp.Body); err != nil {
		return err
	}
	if resp.StatusCode >= 400 {
		return cli.Conflict(fmt.Sprintf("%s answers %s", w.Name, resp.Status), "mcli logs "+w.Name+" shows what it writes")
	}
	return nil
}

func ping() *face.Command {
	return &face.Command{
		Use: "ping DEPLOYMENT", Short: "Ask a deployment whether it is there", Most: 1, Names: true,
		Flags: []face.Flag{{Names: "path", Arg: "PATH", Does: "what is asked for; default: its probe's path, or /"}},
		Run: func(c *face.Call) error {
			name, err := c.Need("the name of a deployment")
			if err != nil {
				return err
			}
			w, err := found(c, name, deploymentKinds)
			if err != nil {
				return err
			}
			path := c.Text("path")
			if p := cli.Document(w).Probe; path == "" && p != nil {
				path = p.Path
			}
			return ask(c, w.ID, http.MethodGet, "/"+strings.TrimPrefix(path, "/"), nil)
		},
	}
}

func predict() *face.Command {
	return &face.Command{
		Use: "predict DEPLOYMENT (-f FILE | -i JSON)", Short: "Send a request to a deployment", Most: 1, Names: true,
		Flags: []face.Flag{
			{Names: "input-file f file", Arg: "FILE", Does: "JSON to send; - is standard input"},
			{Names: "input i", Arg: "JSON", Does: "the JSON itself"},
			{Names: "path", Arg: "PATH", Does: "where it is sent; default: /predict"},
		},
		Run: func(c *face.Call) error {
			name, err := c.Need("the name of a deployment")
			if err != nil {
				return err
			}
			body := []byte(c.Text("input"))
			if c.Given("input-file") {
				if body, err = c.Read(c.Text("input-file")); err != nil {
					return err
				}
			}
			if !json.Valid(body) {
				return cli.Wrong("the input is not JSON", "mcli predict NAME -i '{\"inputs\": [\"…\"]}'")
			}
			return ask(c, name, http.MethodPost, "/"+strings.TrimPrefix(cmp.Or(c.Text("path"), "predict"), "/"), body)
		},
	}
}

// kept are the parts of secrets that are files or texts of flags.
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

func createSecret() *face.Command {
	cmd := &face.Command{Use: "secret", Also: "secrets s", Short: "Store a secret, which every run of yours is given"}
	for _, t := range secretTypes {
		flags := []face.Flag{{Names: "name", Arg: "NAME", Does: "its name"}}
		for _, p := range t.parts {
			f := face.Flag{Names: p.flag, Arg: "TEXT", Does: "its " + cmp.Or(p.field, p.value)}
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
		cmd.Sub = append(cmd.Sub, &face.Command{Use: use, Short: "A secret of type " + t.name, Flags: flags, Most: 1, Run: func(c *face.Call) error {
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
			done, err := conn.CreateSecret(c.Context, in)
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
func mainValue(c *face.Call, in *api.NewSecret, main string, file, pair bool) error {
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
			in.Name = face.Name(key)
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

func partsOf(c *face.Call, in *api.NewSecret, parts []part) error {
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

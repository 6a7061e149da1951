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

	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/cli/document"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/core/spec"
)

// submitted is a document as a tree of what it says.
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

func diff() *compat.Command {
	return &compat.Command{
		Use: "diff RUN_A RUN_B", Short: "What the configurations of two runs say differently", Most: 2, Names: true,
		Run: func(c *compat.Call) error {
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
				flatten("", submitted(document.WithoutKept(cli.Document(w))), sides[i])
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
				rows = append(rows, []string{k, compat.Dash(sides[0][k]), compat.Dash(sides[1][k])})
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

func deploy() *compat.Command {
	return &compat.Command{
		Use: "deploy -f FILE", Short: "Submit a deployment",
		Flags: []compat.Flag{
			{Names: "file f", Arg: "FILE", Does: "the deployment's document, of the kind inference; - is standard input"},
			{Names: "name", Arg: "NAME", Does: "its name"},
			{Names: "cluster platform", Arg: "NAME", Does: "the cluster that it runs in"},
			{Names: "image", Arg: "IMAGE", Does: "its image"},
			{Names: "replicas", Arg: "N", Does: "how many replicas"},
			{Names: "gpu-type", Arg: "TYPE", Does: "the type of its GPUs"},
			{Names: "gpus", Arg: "N", Does: "GPUs of each replica"},
		},
		Run: func(c *compat.Call) error {
			if !c.Given("file") {
				return cli.Wrong("there is nothing to deploy", "mcli deploy -f FILE")
			}
			doc, err := compat.Load(c, c.Text("file"))
			if err != nil {
				return err
			}
			if !doc.Kind.Replicated() {
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
func ask(c *compat.Call, name, method, path string, body []byte) error {
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

func ping() *compat.Command {
	return &compat.Command{
		Use: "ping DEPLOYMENT", Short: "Ask a deployment whether it is there", Most: 1, Names: true,
		Flags: []compat.Flag{{Names: "path", Arg: "PATH", Does: "what is asked for; default: its probe's path, or /"}},
		Run: func(c *compat.Call) error {
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

func predict() *compat.Command {
	return &compat.Command{
		Use: "predict DEPLOYMENT (-f FILE | -i JSON)", Short: "Send a request to a deployment", Most: 1, Names: true,
		Flags: []compat.Flag{
			{Names: "input-file f file", Arg: "FILE", Does: "JSON to send; - is standard input"},
			{Names: "input i", Arg: "JSON", Does: "the JSON itself"},
			{Names: "path", Arg: "PATH", Does: "where it is sent; default: /predict"},
		},
		Run: func(c *compat.Call) error {
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

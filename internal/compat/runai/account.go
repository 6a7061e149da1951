package runai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
)

func login() *compat.Command {
	cmd := void("login", "", noLogin, true)
	for _, way := range []string{"sso", "user", "application", "access-key", "remote-browser"} {
		cmd.Sub = append(cmd.Sub, void(way, "", noLogin, true))
	}
	return cmd
}

func whoami() *compat.Command {
	return &compat.Command{Use: "whoami", Short: "Who one is", Flags: []compat.Flag{{Names: "show-aliases", Void: "a user has one name."}, {Names: "verify-auth", Does: "ask the server"}}, Run: func(c *compat.Call) error {
		conn, err := c.Connect(c.Context)
		if err != nil {
			return err
		}
		if c.Bool("verify-auth") {
			if _, err := conn.Server(c.Context); err != nil {
				return err
			}
		}
		return c.Table(nil, [][]string{{"User:", cmp.Or(c.Me(), "whoever has the token")}, {"Logged in server:", conn.Address()}})
	}}
}

func version(c *compat.Call) error {
	v := c.Version().Version
	if c.Bool("short") {
		_, err := fmt.Fprintln(c.Out(), v)
		return err
	}
	_, err := fmt.Fprintf(c.Out(), "Version: Muster %s\n", v)
	return err
}

func config() *compat.Command {
	return &compat.Command{Use: "config", Short: "The default project", Sub: []*compat.Command{
		{Use: "project NAME", Short: "Make a project the default one", Most: 1, Run: setProject},
		void("cluster", "", "a workload may go to any cluster that its project may use; its document names one with clusters.", true),
		{Use: "describe", Short: "Print settings", Flags: formatFlags[:2], Run: describeConfig},
		void("generate", "", "there is nothing to generate: without settings the server of this machine is used.", true),
		{Use: "set", Short: "Change settings", Flags: []compat.Flag{
			{Names: "default-project", Arg: "NAME", Does: "the default project"},
			{Names: "output", Arg: "FORMAT", Void: "each command has its own format."},
			{Names: "interactive", Void: "nothing is asked here."},
			{Names: "status-timeout-duration", Arg: "TIME", Void: "commands wait as long as the server needs."},
			{Names: "auth-url", Arg: "URL", Void: noLogin}, {Names: "cp-url", Arg: "URL", Void: "MUSTER_SERVER names the server."},
		}, Run: func(c *compat.Call) error {
			if !c.Given("default-project") {
				return nil
			}
			return keepProject(c, c.Text("default-project"))
		}},
	}}
}

func describeConfig(c *compat.Call) error {
	conn, err := c.Connect(c.Context)
	if err != nil {
		return err
	}
	settings := map[string]string{"server": conn.Address(), "project": cmp.Or(project(c), "default")}
	for _, f := range []string{"json", "yaml"} {
		if c.Bool(f) {
			data, _ := json.Marshal(settings) // texts always marshal
			return c.Body(f, json.RawMessage(data))
		}
	}
	return c.Table([]string{"SETTING", "VALUE"}, [][]string{{"server", settings["server"]}, {"project", settings["project"]}})
}

func setProject(c *compat.Call) error {
	name, err := c.Need("the name of a project")
	if err != nil {
		return err
	}
	return keepProject(c, name)
}

// keepProject makes a project the default one, if there is one of that name.
func keepProject(c *compat.Call, name string) error {
	conn, err := c.Connect(c.Context)
	if err != nil {
		return err
	}
	list, err := conn.Projects.List(c.Context)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(list.Items, func(p api.Project) bool { return p.Name == name }) {
		return cli.Missing(fmt.Sprintf("there is no project %q", name), "runai list projects lists them; runai project create makes one")
	}
	if _, err := c.Keep("project", name); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Out(), "Project %s has been set as default project\n", name)
	return err
}

// projectFlags are those of project create.
var projectFlags = []compat.Flag{
	{Names: "department", Arg: "NAME", Does: "the department that it stands below"},
	{Names: "gpu-quota deserved-gpus", Arg: "N", Does: "GPUs that it is promised, of all pools together"},
	{Names: "namespace", Arg: "NAME", Void: "the namespace of a project is named after it."},
}

func createProject(c *compat.Call) error {
	name, err := c.Need("a name")
	if err != nil {
		return err
	}
	p := api.NewProject{Name: name, ProjectSpec: api.ProjectSpec{Parent: c.Text("department")}}
	if c.Given("gpu-quota") {
		n, err := strconv.ParseFloat(c.Text("gpu-quota"), 64)
		if err != nil || n < 0 {
			return cli.Wrong(fmt.Sprintf("--gpu-quota: %q is not a number of GPUs", c.Text("gpu-quota")), "like 8 or 2.5")
		}
		p.Pools = map[string]api.PoolQuota{"*": {GPU: &api.ResourceQuota{Quota: &n}}}
	}
	conn, err := c.Connect(c.Context)
	if err != nil {
		return err
	}
	if _, err := conn.Projects.Create(c.Context, p); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Out(), "Project %s has been created\n", name)
	return err
}

// credentials are the user's secrets.
func credentials() []*compat.Command {
	parts := map[string]string{"docker-registry": "docker", "generic-secret": "mounted", "access-key": "s3"}
	create := &compat.Command{
		Use: "create TYPE NAME", Short: "Store a secret; its value comes from --from-file or a question", Most: 2,
		Flags: []compat.Flag{
			{Names: "from-file", Arg: "FILE", Does: "file with the value; - is standard input"},
			{Names: "username", Arg: "NAME", Does: "docker-registry: the user"},
			{Names: "server registry", Arg: "HOST", Does: "docker-registry: the registry"},
			{Names: "config-file", Arg: "FILE", Does: "access-key: the config file"},
			{Names: "credentials-file", Arg: "FILE", Does: "access-key: the credentials file"},
		},
		Run: func(c *compat.Call) error {
			if len(c.Args) != 2 {
				return cli.Wrong("a type and a name are needed", "runai my-credential create docker-registry NAME; types: docker-registry, generic-secret, access-key, or one of muster secret create")
			}
			args := []string{"secret", "create", cmp.Or(parts[c.Args[0]], c.Args[0]), c.Args[1]}
			for flag, own := range map[string]string{"from-file": "--from-file", "username": "--username", "server": "--registry", "config-file": "--config-file", "credentials-file": "--credentials-file"} {
				if c.Given(flag) {
					args = append(args, own, c.Text(flag))
				}
			}
			return c.Muster(c.Context, args...)
		},
	}
	return []*compat.Command{
		create,
		{Use: "list", Also: "ls", Short: "List secrets; values are never shown", Flags: formatFlags, Run: func(c *compat.Call) error {
			conn, err := c.Connect(c.Context)
			if err != nil {
				return err
			}
			list, err := conn.Secrets.List(c.Context)
			if err != nil {
				return err
			}
			if done, err := as(c, list); done {
				return err
			}
			var rows [][]string
			for _, s := range list.Items {
				rows = append(rows, []string{s.Name, s.Type})
			}
			return c.Table([]string{"NAME", "TYPE"}, rows)
		}},
		{Use: "delete NAME…", Also: "del", Short: "Delete secrets", Most: compat.All, Flags: []compat.Flag{{Names: "yes y", Void: "nothing is asked where names are given."}}, Run: func(c *compat.Call) error {
			if len(c.Args) == 0 {
				return cli.Wrong("the name of a secret is needed", strings.TrimSpace(c.Path)+" NAME")
			}
			return c.Muster(c.Context, append(append([]string{"secret", "delete"}, c.Args...), "--yes")...)
		}},
	}
}

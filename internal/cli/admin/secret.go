package admin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/nearest"
)

// NewSecret makes the command secret.
func NewSecret(s *session.Session) *cobra.Command {
	cmd := session.Group("secret", "Secrets that tasks are given: create, list, delete", "secrets")
	cmd.AddCommand(newSecretCreate(s), newSecretList(s), newSecretDelete(s))
	return cmd
}

type secretOptions struct {
	fromFile      string
	passwordStdin bool
	everywhere    bool
	name          string
	text          map[string]*string // by flag
	scope         secretScope
}

// secretScope is whose secret a command is about.
type secretScope struct {
	project string
	system  bool
}

func (o *secretScope) register(s *session.Session, cmd *cobra.Command, project, system string) {
	cmd.Flags().StringVarP(&o.project, "project", "p", "", project)
	cmd.Flags().BoolVar(&o.system, "system", false, system)
	_ = cmd.RegisterFlagCompletionFunc("project", s.CompleteProjects) // fails for unknown flags only
}

// of is the scope as the API has it; empty: it is about one's own.
func (o *secretScope) of() (string, error) {
	switch {
	case o.system && o.project != "":
		return "", session.UsageError("--system contradicts --project", "leave one of them out")
	case o.system:
		return "-", nil
	}
	return o.project, nil
}

func newSecretCreate(s *session.Session) *cobra.Command {
	o := &secretOptions{text: map[string]*string{}}
	var types strings.Builder
	for _, t := range typesByUse {
		fmt.Fprintf(&types, "  %-12s%s\n", t.name, t.doc)
	}
	cmd := &cobra.Command{
		Use:     "create TYPE NAME [flags]",
		Aliases: []string{"add"},
		Short:   "Store a secret",
		Long: `Stores a secret of yours, or with -p or --system one for all who submit in a project,
in a department or anywhere. It cannot be read again, nor changed: delete it and make
another. A workload sees it when its document or --secret names it, and every
workload of yours, or there, when it is made with --everywhere.

Its value comes from --from-file FILE, from standard input (- in place of a
value), or from a question whose answer is not shown. Of type env it may also
stand on the command line, where others on this machine may see it. The end of
the last line is not taken for a part of a variable, password or token.

Types:
` + strings.TrimRight(types.String(), "\n"),
		Example: `  muster secret create env HF_HOME=/data/hf
  echo $TOKEN | muster secret create env API_TOKEN -
  muster secret create hf hf-token --from-file token.txt --everywhere
  muster secret create docker ghcr --registry ghcr.io --username ana --password-stdin < token.txt
  muster secret create git-ssh github --from-file ~/.ssh/id_ed25519
  muster secret create docker registry -p vision --registry reg.acme.com --username ci --password-stdin < token.txt`,
		RunE: func(cmd *cobra.Command, args []string) error { return createSecret(s, cmd, o, args) },
		ValidArgsFunction: func(_ *cobra.Command, args []string, typed string) (out []string, _ cobra.ShellCompDirective) {
			if len(args) == 0 {
				for _, t := range typesByUse {
					if strings.HasPrefix(t.name, typed) {
						out = append(out, t.name+"\t"+t.doc)
					}
				}
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
	}
	o.scope.register(s, cmd, "store it for all who submit in this project or department", "store it for all who submit anywhere")
	f := cmd.Flags()
	f.StringVar(&o.fromFile, "from-file", "", "file with the value; - is standard input")
	f.BoolVar(&o.passwordStdin, "password-stdin", false, "docker: the password comes from standard input")
	f.BoolVar(&o.everywhere, "everywhere", false, "give it to every workload of yours, or there")
	f.StringVar(&o.name, "name", "", "env: name of the secret; default: that of the variable in lower case")
	for flag, use := range map[string]string{
		"variable": "env: name of the variable, where it is not the name", "path": "where its file, or the folder of its files, is in a container",
		"username": "docker: user at the registry", "registry": "docker: the registry; default: Docker Hub", "host": "databricks: address of the workspace",
		"config-file": "s3, oci: the config file", "credentials-file": "s3: the credentials file", "key-file": "oci: the private key", "known-hosts-file": "sftp-ssh: a known_hosts file",
	} {
		o.text[flag] = f.String(flag, "", use)
	}
	return cmd
}

func secretTypeNamed(name string) (secretType, error) {
	var names []string
	for _, t := range typesByUse {
		if t.name == name {
			return t, nil
		}
		names = append(names, t.name)
	}
	e := session.UsageError(fmt.Sprintf("%q is not a type of secret", name), "one of "+strings.Join(names, ", "))
	if near := nearest.Words(name, names); len(near) > 0 {
		e.Problem.Hint = "did you mean " + near[0] + "?"
	}
	return secretType{}, e
}

func createSecret(s *session.Session, cmd *cobra.Command, o *secretOptions, args []string) error {
	if len(args) < 2 || len(args) > 3 || len(args) == 3 && args[2] != "-" {
		return session.UsageError(fmt.Sprintf("muster secret create takes a type and a name, not %s", session.Plural(len(args), "word")), cmd.UseLine()+"; values never stand behind the name")
	}
	scope, err := o.scope.of()
	if err != nil {
		return err
	}
	t, err := secretTypeNamed(args[0])
	if err != nil {
		return err
	}
	in := api.NewSecret{Name: args[1], Type: t.name, Everywhere: o.everywhere, Fields: map[string]string{}, Values: map[string][]byte{}}
	given := ""
	if t.name == "env" {
		if given, err = o.variable(&in); err != nil {
			return err
		}
	} else if o.name != "" {
		return session.UsageError("--name is for type env; of others the name stands behind the type", cmd.UseLine())
	}
	if err := secretParts(s, cmd, o, t, &in); err != nil {
		return err
	}
	piped := len(args) == 3
	if given == "-" { // NAME=- means the same
		given, piped = "", true
	}
	if piped {
		if o.fromFile != "" {
			return session.UsageError("- contradicts --from-file", "leave one of them out")
		}
		o.fromFile = "-"
	}
	if err := mainValue(cmd.Context(), s, o, t, given, &in); err != nil {
		return err
	}
	c, err := s.Connect(cmd.Context())
	if err != nil {
		return err
	}
	var done *api.Secret
	if scope == "" {
		done, err = c.Secrets.Create(cmd.Context(), in)
	} else {
		done, err = c.Secrets.CreateIn(cmd.Context(), scope, in)
	}
	if err != nil {
		return err
	}
	if shown, err := s.Brief(done, done.Name); shown {
		return err
	}
	of, whose := "", "of yours"
	if scope != "" {
		of, whose = " of "+session.ScopeName(scope), "there"
	}
	hint := "muster run --secret " + done.Name + " gives it to a workload"
	if done.Everywhere {
		hint = "every workload " + whose + " is given it"
	}
	s.Say("secret %s of type %s%s is stored; %s", done.Name, done.Type, of, hint)
	return nil
}

// variable reads what stands in place of the name of a secret of type env:
// VARIABLE, VARIABLE=value, or the secret's own name beside --variable.
func (o *secretOptions) variable(in *api.NewSecret) (value string, err error) {
	word, value, has := strings.Cut(in.Name, "=")
	if has && value == "" {
		return "", session.UsageError(word+" has an empty value", "write "+word+"=value, or leave out = to be asked for it")
	}
	if own := *o.text["variable"]; own != "" {
		if o.name != "" {
			return "", session.UsageError("--variable contradicts --name", "leave one of them out")
		}
		in.Name = word
		return value, nil
	}
	in.Fields["variable"] = word
	if in.Name = o.name; in.Name == "" {
		in.Name = strings.Trim(strings.ReplaceAll(strings.ToLower(word), "_", "-"), "-")
	}
	return value, nil
}

// secretParts takes what flags say, and refuses those of other types.
func secretParts(s *session.Session, cmd *cobra.Command, o *secretOptions, t secretType, in *api.NewSecret) error {
	mine := map[string]bool{}
	for _, p := range t.fields {
		mine[p.flag] = true
		text := *o.text[p.flag]
		if text == "" && p.needed {
			return session.UsageError(fmt.Sprintf("a secret of type %s needs --%s", t.name, p.flag), "muster secret create --help shows examples")
		}
		if text != "" {
			in.Fields[p.name] = text
		}
	}
	for _, p := range t.values {
		mine[p.flag] = true
		text := *o.text[p.flag]
		if text == "" && p.needed {
			return session.UsageError(fmt.Sprintf("a secret of type %s needs --%s", t.name, p.flag), "muster secret create --help shows examples")
		}
		if text == "" {
			continue
		}
		data, err := readValue(s, text)
		if err != nil {
			return err
		}
		in.Values[p.name] = data
	}
	for _, flag := range slices.Sorted(maps.Keys(o.text)) {
		if cmd.Flags().Changed(flag) && !mine[flag] {
			return session.UsageError(fmt.Sprintf("--%s is not for a secret of type %s", flag, t.name), "leave it out")
		}
	}
	if o.passwordStdin && t.name != "docker" {
		return session.UsageError("--password-stdin is for type docker", "write - in place of the value")
	}
	return nil
}

func newSecretList(s *session.Session) *cobra.Command {
	var t session.TableFlags
	var sc secretScope
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls", "get"}, Short: "List your secrets, or a project's; values are never shown", Example: "  muster secret list\n  muster secret list -p vision\n  muster secret list -p -", Args: session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			scope, err := sc.of()
			if err != nil {
				return err
			}
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			var list *api.SecretList
			if scope == "" {
				list, err = c.Secrets.List(cmd.Context())
			} else {
				list, err = c.Secrets.ListIn(cmd.Context(), scope)
			}
			if err != nil {
				return err
			}
			if sc.system { // the API gives those of all scopes
				list.Items = slices.DeleteFunc(list.Items, func(x api.Secret) bool { return x.Project != scope })
			}
			m := s.Moments(t)
			err = session.Print(s, t, session.Table[api.Secret]{Items: list.Items, Body: list, Name: func(x api.Secret) string { return x.Name }, Columns: []session.Column[api.Secret]{
				{Title: "NAME", Cell: func(x api.Secret) string { return x.Name }},
				{Title: "OF", Wide: scope == "", Cell: func(x api.Secret) string {
					if x.Project == "" {
						return "you"
					}
					return session.ScopeName(x.Project)
				}},
				{Title: "MADE BY", Wide: scope == "", Cell: func(x api.Secret) string { return printers.OrDash(x.CreatedBy) }},
				{Title: "TYPE", Cell: func(x api.Secret) string { return x.Type }},
				{Title: "GIVEN TO", Cell: func(x api.Secret) string {
					if x.Everywhere {
						return "every workload"
					}
					return "who names it"
				}},
				{Title: "AGE", Cell: func(x api.Secret) string { return m.Ago(session.TimeOf(x.CreatedAt)) }},
				{Title: "FIELDS", Cell: func(x api.Secret) string { return printers.OrDash(session.Pairs(x.Fields)) }},
			}})
			if err == nil && len(list.Items) == 0 && !s.Machine() {
				s.Say("There are none. muster secret create makes one")
			}
			return err
		},
	}
	t.Register(cmd)
	sc.register(s, cmd, "those that workloads of this project may name beside one's own; -: of all projects, departments and the system", "those of the system alone")
	return cmd
}

func newSecretDelete(s *session.Session) *cobra.Command {
	yes := false
	var sc secretScope
	cmd := &cobra.Command{
		Use: "delete NAME…", Aliases: []string{"rm"}, Short: "Forget secrets; tasks that have them keep them", Example: "  muster secret delete hf-token --yes",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return session.UsageError("muster secret delete needs the name of a secret", cmd.UseLine())
			}
			scope, err := sc.of()
			if err != nil {
				return err
			}
			return deleteSecrets(cmd.Context(), s, scope, args, yes)
		},
		ValidArgsFunction: s.CompleteSecrets,
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	sc.register(s, cmd, "of this project or department", "of the system")
	return cmd
}

func deleteSecrets(ctx context.Context, s *session.Session, scope string, names []string, yes bool) error {
	if !yes {
		if !s.IO.InTerminal {
			return session.NeedsFlagError("muster secret delete", "--yes")
		}
		if ok, err := s.Ask("About to delete: " + strings.Join(names, ", ") + "\nNobody can read or restore a secret."); !ok {
			return err
		}
	}
	return eachOf(ctx, s, names, func(c *client.Client, name string) error {
		var err error
		if scope == "" {
			err = c.Secrets.Delete(ctx, name)
		} else {
			err = c.Secrets.DeleteIn(ctx, scope, name)
		}
		if err != nil {
			return err
		}
		s.Say("deleted secret %s", name)
		return nil
	})
}

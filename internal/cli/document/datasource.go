package document

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/session"
)

// SourceFlags are what the command line says of a data source or a data volume
// beside --volume and --secret.
type SourceFlags struct {
	claims, repositories []string
	nfs, s3              string
}

// Register gives f the flags of a kind of data source.
func (o *SourceFlags) Register(f *pflag.FlagSet, kind string) {
	f.StringArrayVar(&o.claims, "claim", nil, "a PersistentVolumeClaim: NAME:PATH[:ro]; repeat for several")
	if kind == client.KindDataSource {
		f.StringArrayVar(&o.repositories, "git", nil, "a git repository, cloned below the working directory: ORG/REPO or URL[,branch=…][,commit=…][,path=…]; repeat for several")
	}
	// A word that other tools have and Muster does not gets an error with the command to use instead.
	f.StringVar(&o.nfs, "nfs", "", "is refused: mount it on the nodes, or make a claim of it")
	f.StringVar(&o.s3, "s3", "", "is refused: buckets are not mounted")
	for _, name := range []string{"nfs", "s3"} {
		_ = f.MarkHidden(name)
	}
}

// Edits are what the flags say, as changes of a document.
func (o *SourceFlags) Edits() ([]Change, error) {
	switch {
	case o.nfs != "":
		return nil, session.UsageError(fmt.Sprintf("--nfs %s: exports are not mounted by muster", o.nfs), "mount it on the nodes and write -v HOSTPATH:PATH, or make a PersistentVolumeClaim of it and write --claim NAME:PATH")
	case o.s3 != "":
		return nil, session.UsageError(fmt.Sprintf("--s3 %s: buckets are not mounted by muster", o.s3), "keep the keys as a secret of type s3 and fetch the data in init, both in an environment; or mount the bucket on the nodes and write -v HOSTPATH:PATH")
	}
	var all []Change
	for _, text := range o.claims {
		parts := strings.Split(text, ":")
		if len(parts) < 2 || len(parts) > 3 || parts[0] == "" || !strings.HasPrefix(parts[1], "/") || len(parts) == 3 && parts[2] != "ro" {
			return nil, session.UsageError(fmt.Sprintf("--claim %s: is not NAME:PATH", text), "write NAME:PATH or NAME:PATH:ro, like datasets:/data:ro")
		}
		v := map[string]any{"claim": parts[0], "path": parts[1]}
		if len(parts) == 3 {
			v["readOnly"] = true
		}
		all = append(all, Change{Path: "volumes", Value: v, Flag: "--claim", add: true})
	}
	for _, text := range o.repositories {
		repo, rest, _ := strings.Cut(text, ",")
		g := map[string]any{"repo": repo}
		for _, word := range strings.FieldsFunc(rest, func(r rune) bool { return r == ',' }) {
			key, value, ok := strings.Cut(word, "=")
			if !ok || key != "branch" && key != "commit" && key != "path" || value == "" {
				return nil, session.UsageError(fmt.Sprintf("--git %s: %q is not known", text, word), "write ORG/REPO or a URL, then ,branch=…, ,commit=… or ,path=…")
			}
			g[key] = value
		}
		if repo == "" {
			return nil, session.UsageError(fmt.Sprintf("--git %s: names no repository", text), "write ORG/REPO or a URL, like acme/train,branch=main")
		}
		all = append(all, Change{Path: "integrations", Value: map[string]any{"git": g}, Flag: "--git", add: true})
	}
	return all, nil
}

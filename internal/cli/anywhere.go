package cli

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/musterhq/muster/internal/cli/session"
)

// fileFlags are the flags of a server that name a file, or a directory of files.
var fileFlags = []string{
	"acme-ca", "audit-ca", "audit-webhook-secret-file", "check-keys", "kubeconfig", "secrets-key-file", "secrets-vault", "smtp-password-file", "sso", "tls-cert", "tls-key", "token-file",
}

// anywhere makes the flags mean the same in another directory and without this
// shell's environment: that is how systemd starts a server.
func (x *serverFlags) anywhere(f *pflag.FlagSet, env func(string) string) error {
	o := &x.o
	if at := env("MUSTER_REGISTRY"); at != "" && !f.Changed("registry") {
		if err := f.Set("registry", at); err != nil {
			return err
		}
	}
	if at := env("KUBECONFIG"); at != "" && o.Kubeconfig == "" && slices.Contains(o.Backends, "kube") {
		if len(filepath.SplitList(at)) > 1 {
			return session.UsageError("$KUBECONFIG names several files, and a server takes one", "name it with --kubeconfig, which kubectl config view --flatten >FILE makes of several")
		}
		if err := f.Set("kubeconfig", at); err != nil {
			return err
		}
	}
	for _, name := range fileFlags {
		flag := f.Lookup(name)
		if at := flag.Value.String(); at == "" || strings.HasPrefix(at, "vault:") {
			continue
		}
		path, err := filepath.Abs(flag.Value.String())
		if err != nil {
			return err
		}
		if err := f.Set(name, path); err != nil {
			return err
		}
	}
	for i, c := range o.Clusters {
		name, file, named := strings.Cut(c, "=")
		if !named || file == "" {
			continue // refused as what it is
		}
		path, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		o.Clusters[i] = name + "=" + path
	}
	return nil
}

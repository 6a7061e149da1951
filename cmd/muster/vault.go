package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/core/spec/codec"
	"github.com/musterhq/muster/internal/secret"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/vault"
	"github.com/musterhq/muster/internal/wholefile"
)

// vaultFile notes in the data directory where the keys are that are not there: whoever
// starts a server without --secrets-vault or --secrets-key-file is told, and so is who has lost the database.
const vaultFile = "secrets.vault"

// boxOf opens what seals secrets: with the keys in the data directory, or in the vault
// that --secrets-vault names.
func boxOf(ctx context.Context, o cli.ServerOptions, st store.Store) (*secret.Box, error) {
	if o.SecretsKeyFile != "" {
		if o.SecretsVault != "" {
			return nil, precondition("--secrets-key-file contradicts --secrets-vault", "leave one of them out")
		}
		path, err := filepath.Abs(o.SecretsKeyFile)
		if err != nil {
			return nil, err
		}
		return keptBox(ctx, o.DataDir, st, secret.Mounted(path), keptWords{
			put: "put the lines of both into the one, the newest first", see: "see that the file is there, with lines as secrets.key has them, and that only the server's user reads it",
		})
	}
	v, s, err := vaultOf(o)
	if err != nil {
		return nil, err
	}
	if v == nil {
		if err := refuseKeyless(ctx, o.DataDir, st); err != nil {
			return nil, err
		}
		box, err := secret.Open(filepath.Join(o.DataDir, "secrets.key"))
		if err != nil {
			return nil, precondition(err.Error(), "restore the file: without it the stored secrets cannot be opened")
		}
		return box, nil
	}
	return keptBox(ctx, o.DataDir, st, v, keptWords{
		put: fmt.Sprintf("put them into the vault with vault kv put %s/%s keys=@%s", s.Mount, s.Path, filepath.Join(o.DataDir, "secrets.key")),
		see: "see that the vault answers, and that its policy lets this server read and make what is at that path",
	})
}

// vaultOf is the vault that --secrets-vault names, and what its file says; nil: none.
func vaultOf(o cli.ServerOptions) (*vault.Vault, *vault.Settings, error) {
	if o.SecretsVault == "" {
		return nil, nil, nil
	}
	wrong := func(err error, hint string) error {
		return precondition(fmt.Sprintf("--secrets-vault %s: %v", o.SecretsVault, err), hint)
	}
	s, err := vault.ReadFile(o.SecretsVault)
	if err != nil {
		hint := "name a file that the server can read"
		if errors.As(err, new(codec.Errors)) {
			hint = "mend the file; docs/security.md has an example"
		}
		return nil, nil, wrong(err, hint)
	}
	v, err := vault.New(*s)
	if err != nil {
		return nil, nil, wrong(err, "mend the file")
	}
	return v, s, nil
}

// keptWords is what a person does about keys that are kept elsewhere.
type keptWords struct {
	put string // where there are keys in the data directory, too
	see string // where they cannot be had
}

// keptBox opens what a safe's keys seal. Keys in a file beside are not passed over: they
// may be what opens the secrets.
func keptBox(ctx context.Context, dir string, st store.Store, k secret.Safe, words keptWords) (*secret.Box, error) {
	file := filepath.Join(dir, "secrets.key")
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return nil, precondition(fmt.Sprintf("keys of secrets are in %s, and others would be taken from %s", file, k),
			fmt.Sprintf("%s, keep a copy as safe as that, and remove %s", words.put, file))
	}
	all, err := st.Secrets(ctx)
	if err != nil {
		return nil, err
	}
	if len(all) > 0 {
		if _, version, err := k.Keys(); err == nil && version == 0 {
			return nil, precondition(fmt.Sprintf("nothing is kept at %s, and %d secrets can be opened only with the keys that were", k, len(all)),
				"name the vault and the path that has them, or restore them there")
		}
	}
	box, err := secret.OpenKept(k)
	if err != nil {
		return nil, precondition(err.Error(), words.see)
	}
	if err := wholefile.Write(filepath.Join(dir, vaultFile), []byte(k.String()+"\n")); err != nil {
		return nil, fmt.Errorf("where the keys of secrets are cannot be noted: %w", err)
	}
	return box, nil
}

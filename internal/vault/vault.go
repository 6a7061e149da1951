package vault

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	// patience is how long the vault may take for one answer.
	patience = 10 * time.Second
	// answerMost bounds an answer, in bytes: keys, and what is said of them.
	answerMost = 1 << 20
	// field holds the keys, in the form of the file secrets.key.
	field = "keys"
)

// Vault keeps keys. It implements secret.Safe.
type Vault struct {
	s    Settings
	http *http.Client

	mu    sync.Mutex
	token string // of a login by AppRole; empty: none yet
}

// New returns a vault, which is not asked before it is needed.
func New(s Settings) (*Vault, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if s.CAFile != "" {
		pem, err := os.ReadFile(s.CAFile)
		if err != nil {
			return nil, fmt.Errorf("caFile: %w", err)
		}
		t.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("caFile: %s holds no certificate (PEM)", s.CAFile)
		}
	}
	return &Vault{s: s, http: &http.Client{
		Transport: t, Timeout: patience,
		// Its token would go along.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// String is where the keys are.
func (v *Vault) String() string {
	return fmt.Sprintf("%s in the vault %s", v.s.Mount+"/"+v.s.Path, v.s.Address)
}

func (v *Vault) at() string { return v.s.Mount + "/data/" + v.s.Path }

// kept is what the key-value engine says of what it keeps.
type kept struct {
	Data *struct {
		Data     map[string]any `json:"data"`
		Metadata struct {
			Version   int    `json:"version"`
			Deleted   string `json:"deletion_time"`
			Destroyed bool   `json:"destroyed"`
		} `json:"metadata"`
	} `json:"data"`
}

// Keys implements secret.Safe: what is kept, and which version of it; nothing and 0
// where nothing has ever been.
func (v *Vault) Keys() ([]byte, int, error) {
	var k kept
	status, err := v.call(http.MethodGet, v.at(), nil, &k)
	switch {
	case err != nil:
		return nil, 0, err
	case k.Data != nil && (k.Data.Metadata.Deleted != "" || k.Data.Metadata.Destroyed):
		return nil, 0, fmt.Errorf("version %d of %s was deleted there: vault kv undelete brings it back, unless it was destroyed", k.Data.Metadata.Version, v)
	case status == http.StatusNotFound:
		return nil, 0, nil
	case k.Data == nil || k.Data.Metadata.Version < 1:
		return nil, 0, fmt.Errorf("%s is not of the key-value engine of version 2: vault secrets enable -version=2 -path=%s kv", v, v.s.Mount)
	}
	text, ok := k.Data.Data[field].(string)
	if !ok {
		return nil, 0, fmt.Errorf("%s has no text in its field %s; vault kv put %s/%s %s=@secrets.key puts the server's file there", v, field, v.s.Mount, v.s.Path, field)
	}
	return []byte(strings.TrimRight(text, "\n") + "\n"), k.Data.Metadata.Version, nil
}

// Fields are the texts that are kept at another path of the same engine, by their names;
// none where nothing is there.
func (v *Vault) Fields(path string) (map[string]string, error) {
	if !plainPath(path) {
		return nil, fmt.Errorf("%q is no path in a vault: write names with / between them", path)
	}
	var k kept
	status, err := v.call(http.MethodGet, v.s.Mount+"/data/"+path, nil, &k)
	out := map[string]string{}
	switch {
	case err != nil:
		return nil, err
	case status == http.StatusNotFound:
		return out, nil
	case k.Data == nil || k.Data.Metadata.Version < 1:
		return nil, fmt.Errorf("%s/%s in the vault %s is not of the key-value engine of version 2", v.s.Mount, path, v.s.Address)
	}
	for name, value := range k.Data.Data {
		if text, ok := value.(string); ok {
			out[name] = text
		}
	}
	return out, nil
}

// Keep implements secret.Safe: it puts text in the place of a version, 0 for none, and
// fails where another server was faster.
func (v *Vault) Keep(text []byte, version int) error {
	body := map[string]any{"options": map[string]int{"cas": version}, "data": map[string]string{field: string(text)}}
	status, err := v.call(http.MethodPost, v.at(), body, nil)
	if err == nil && status == http.StatusNotFound {
		err = fmt.Errorf("the vault %s has no key-value engine at %s", v.s.Address, v.s.Mount)
	}
	return err
}

// call asks the vault, logging in where it has to. Of the answers that are errors only 404
// is none here.
func (v *Vault) call(method, path string, body, into any) (int, error) {
	for again := false; ; again = true {
		token, err := v.open(again)
		if err != nil {
			return 0, err
		}
		status, err := v.ask(method, path, token, body, into)
		if status != http.StatusForbidden || again || v.s.AppRole == nil {
			return status, err
		}
	}
}

// open returns what opens the vault; anew: not what has opened it before.
func (v *Vault) open(anew bool) (string, error) {
	a := v.s.AppRole
	if a == nil {
		return word("tokenFile", v.s.TokenFile)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.token != "" && !anew {
		return v.token, nil
	}
	id, err := word("appRole.secretIdFile", a.SecretIDFile)
	if err != nil {
		return "", err
	}
	var in struct {
		Auth struct {
			Token string `json:"client_token"`
		} `json:"auth"`
	}
	status, err := v.ask(http.MethodPost, "auth/"+a.Mount+"/login", "", map[string]string{"role_id": a.RoleID, "secret_id": id}, &in)
	if err == nil && (status == http.StatusNotFound || in.Auth.Token == "") {
		err = errors.New("it has no such login")
	}
	if err != nil {
		return "", fmt.Errorf("by appRole: %w", err)
	}
	v.token = in.Auth.Token
	return v.token, nil
}

// word is what a file holds.
func word(setting, path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", setting, err)
	}
	w := strings.TrimSpace(string(text))
	if w == "" || strings.ContainsAny(w, "\r\n") {
		return "", fmt.Errorf("%s: %s holds no single line", setting, path)
	}
	return w, nil
}

// ask makes one request. What it fails with has no word of what is kept.
func (v *Vault) ask(method, path, token string, body, into any) (int, error) {
	var text bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&text).Encode(body); err != nil {
			return 0, err
		}
	}
	r, err := http.NewRequestWithContext(context.Background(), method, strings.TrimRight(v.s.Address, "/")+"/v1/"+path, &text)
	if err != nil {
		return 0, err
	}
	r.Header.Set("X-Vault-Request", "true")
	if token != "" {
		r.Header.Set("X-Vault-Token", token)
	}
	if v.s.Namespace != "" {
		r.Header.Set("X-Vault-Namespace", v.s.Namespace)
	}
	resp, err := v.http.Do(r)
	if err != nil {
		return 0, fmt.Errorf("the vault does not answer: %w", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, answerMost))
	if err != nil {
		return 0, fmt.Errorf("the vault does not answer: %w", err)
	}
	if resp.StatusCode >= 300 && resp.StatusCode != http.StatusNotFound {
		var refusal struct {
			Errors []string `json:"errors"`
		}
		_ = json.Unmarshal(answer, &refusal) // some that stand before it answer in pages
		why := strings.Join(refusal.Errors, "; ")
		switch {
		case resp.StatusCode == http.StatusServiceUnavailable:
			why = "it is sealed, or stands by; unseal it (" + why + ")"
		case resp.StatusCode == http.StatusForbidden:
			why = "its policy has to allow read, create and update of " + v.at() + " (" + why + ")"
		}
		return resp.StatusCode, fmt.Errorf("the vault %s answers %d to %s: %s", v.s.Address, resp.StatusCode, path, why)
	}
	if into != nil && len(answer) > 0 {
		if err := json.Unmarshal(answer, into); err != nil {
			return resp.StatusCode, fmt.Errorf("the vault %s answers what is not JSON", v.s.Address) // err would show a part of it
		}
	}
	return resp.StatusCode, nil
}

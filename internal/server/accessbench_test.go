package server_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/engine/access"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/server"
	serveraccess "github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/store/sqlstore"
	"github.com/musterhq/muster/internal/testing/controltest"
	"github.com/musterhq/muster/internal/testing/fakebackend"
)

// BenchmarkAuthorisation is what access control adds to a request of a workload, and to
// a list of 10,000 that is read page by page. The server is called without a network,
// by the shared token with access control off, by a user's token with it on.
func BenchmarkAuthorisation(b *testing.B) {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	stored, err := sqlstore.Open(b.Context(), filepath.Join(b.TempDir(), "muster.db"))
	if err != nil {
		b.Fatal(err)
	}
	ctl := controltest.Begin(b, control.Options{Deps: draft.Deps{Store: stored, Log: log, Images: true}}, fakebackend.New("fake", time.Now, []core.Node{fakebackend.Node("n", 1000, 1<<30, 1, "A100")}))
	s := server.New(server.Config{Control: ctl, Clock: time.Now, Log: log, Token: "secret", MAC: mac})
	ask := func(method, path, body, token string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(context.Background(), method, "http://localhost"+path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code >= 300 {
			b.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body.String())
		}
		return w
	}
	ask("POST", "/v1/projects", `{"name":"vision"}`, "secret")
	for chunk := range 10 {
		docs := make([]string, 1000)
		for i := range docs {
			docs[i] = fmt.Sprintf(`{"project":"vision","name":"w%d","image":"x","hold":true}`, chunk*1000+i)
		}
		ask("POST", "/v1/workloads:bulk", "["+strings.Join(docs, ",")+"]", "secret")
	}
	text := "mst_bench"
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	owner := rbac.Caller{Name: "b", Owner: true}
	for _, c := range []draft.Work{
		access.EditUser(access.UserEdit{Name: "ann", Kind: core.SubjectUser, New: true}),
		access.CreateRule(owner, access.RuleRequest{Subject: core.Subject{Kind: core.SubjectUser, Name: "ann"}, Role: "l1-researcher", Scope: "vision"}),
		access.CreateToken(owner, core.Token{User: "ann", Hash: hash}, 0),
	} {
		if err := ctl.Apply(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
	list := func(b *testing.B, token string) {
		n := 0
		for cursor := ""; ; {
			w := ask("GET", "/v1/projects/-/rows?limit=1000&cursor="+cursor, "", token)
			text := w.Body.String()
			n += strings.Count(text, `"number":`)
			i := strings.LastIndex(text, `"next":"`)
			if i < 0 {
				break
			}
			if cursor = text[i+8 : i+8+strings.IndexByte(text[i+8:], '"')]; cursor == "" {
				break
			}
		}
		if n != 10_000 {
			b.Fatalf("%d are listed", n)
		}
	}
	run := func(name, token string) {
		b.Run("one/"+name, func(b *testing.B) {
			for b.Loop() {
				ask(http.MethodGet, "/v1/projects/vision/workloads/w77/tasks", "", token)
			}
		})
		b.Run("list10000/"+name, func(b *testing.B) {
			for b.Loop() {
				list(b, token)
			}
		})
	}
	run("off", "secret")
	if err := ctl.Apply(b.Context(), access.Switch(true, "b")); err != nil {
		b.Fatal(err)
	}
	run("on", text)
}

// BenchmarkSignIn is a whole sign-in, from its beginning to a session that is durable,
// but for what the provider does: with one user, and with 10,000.
func BenchmarkSignIn(b *testing.B) {
	for _, users := range []int{1, 10_000} {
		b.Run(fmt.Sprint("users", users), func(b *testing.B) {
			log := slog.New(slog.NewTextHandler(io.Discard, nil))
			stored, err := sqlstore.Open(b.Context(), filepath.Join(b.TempDir(), "muster.db"))
			if err != nil {
				b.Fatal(err)
			}
			ctl := controltest.Begin(b, control.Options{Deps: draft.Deps{Store: stored, Log: log, Images: true}}, fakebackend.New("fake", time.Now, []core.Node{fakebackend.Node("n", 1000, 1<<30, 1, "A100")}))
			p := &says{}
			s := server.New(server.Config{Control: ctl, Clock: time.Now, Log: log, Token: "secret", MAC: mac, SSO: &serveraccess.SSO{Provider: p, Session: time.Hour}})
			if err := ctl.Apply(b.Context(), draft.Command[draft.Nothing](func(tx *draft.Tx) (draft.Nothing, error) {
				for i := range users {
					who := profile(fmt.Sprint("user-", i), "team")
					draft.Put(&tx.Access.Users, who.Name, &core.User{Name: who.Name, Kind: core.SubjectUser, Account: &core.Account{Provider: who.Provider, Subject: who.Subject}})
				}
				return nil, nil
			})); err != nil {
				b.Fatal(err)
			}
			if err := ctl.Apply(b.Context(), access.Switch(true, "b")); err != nil {
				b.Fatal(err)
			}
			ask := func(path, body string) string {
				r := httptest.NewRequestWithContext(context.Background(), "POST", "http://localhost"+path, strings.NewReader(body))
				r.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				s.ServeHTTP(w, r)
				if w.Code >= 300 {
					b.Fatalf("%s: %d %s", path, w.Code, w.Body.String())
				}
				return w.Body.String()
			}
			n := 0
			for b.Loop() {
				p.set(profile(fmt.Sprint("user-", n%users), "team"), nil)
				n++
				var begun api.StartedSignIn
				if err := json.Unmarshal([]byte(ask("/v1/sign-in", `{"redirect":"http://localhost/ui/login"}`)), &begun); err != nil {
					b.Fatal(err)
				}
				ask("/v1/sign-in/token", fmt.Sprintf(`{"flow":%q,"state":%q,"code":"the code"}`, begun.Flow, begun.State))
			}
		})
	}
}

package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/testing/kubetest"
)

// TestServiceAccountsComeInWithTheirTokens: those of a real API server, for our audience
// and no other, with what rules give them and their namespace.
func TestServiceAccountsComeInWithTheirTokens(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t, kubetest.Options{NoScheduler: true})
	space := c.Namespace(t)
	accounts := c.Client.CoreV1().ServiceAccounts(space)
	for _, name := range []string{"ci", "other"} {
		if _, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	token := func(name string, audience ...string) string {
		t.Helper()
		r, err := accounts.CreateToken(t.Context(), name, &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audience}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return r.Status.Token
	}
	at := freeAddress(t)
	w := newWorld(t, "--backend", "kube", "--kubeconfig", c.Kubeconfig, "--kube-token-audience", "muster", "--listen", at)
	w.muster("project", "create", "vision")
	w.muster("access-rule", "create", "--group", "system:serviceaccount:"+space+":ci", "--role", "l1-researcher", "--project", "vision")
	w.muster("access-rule", "create", "--group", "system:serviceaccounts:"+space, "--role", "viewer", "--project", "vision")
	w.muster("access", "enable")
	asks := func(token, method, path, body string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+at+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text)
	}
	want := func(token, method, path, body string, status int, says string) {
		t.Helper()
		if got, text := asks(token, method, path, body); got != status || !strings.Contains(text, says) {
			t.Errorf("%s %s: %d %s; want %d and %q", method, path, got, text, status, says)
		}
	}
	const all = "/v1/projects/vision/workloads"
	doc := func(name string) string {
		return fmt.Sprintf(`{"name":%q,"project":"vision","image":"busybox","command":["true"]}`, name)
	}
	ci, other := token("ci", "muster"), token("other", "muster", "else")
	want(ci, "GET", "/v1/auth/whoami", "", http.StatusOK, "system:serviceaccount:"+space+":ci")
	want(ci, "POST", all, doc("mine"), http.StatusCreated, `"user":"system:serviceaccount:`+space+`:ci"`)
	want(other, "GET", all, "", http.StatusOK, "mine")
	want(other, "POST", all, doc("theirs"), http.StatusForbidden, "--group system:serviceaccount:"+space+":other --role")
	want(token("ci"), "GET", all, "", http.StatusUnauthorized, "another audience") // that of the API server itself
	want(token("ci", "elsewhere"), "GET", all, "", http.StatusUnauthorized, "another audience")
	want(ci[:len(ci)-4]+"AAAA", "GET", all, "", http.StatusUnauthorized, "lets nobody in")
	if log := w.muster("audit", "list", "-o", "json"); !strings.Contains(log, "user:system:serviceaccount:"+space+":ci") || strings.Contains(log, ci) {
		t.Errorf("the audit log: %s", log)
	}

	// One that is deleted is let in no more, once the cluster is asked again.
	gone := token("other", "muster")
	if err := accounts.Delete(t.Context(), "other", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	kubetest.Eventually(t, "the account is nobody to the cluster", func() error {
		r, err := c.Client.AuthenticationV1().TokenReviews().Create(t.Context(), &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: gone, Audiences: []string{"muster"}}}, metav1.CreateOptions{})
		if err == nil && r.Status.Authenticated {
			err = errf("it is somebody")
		}
		return err
	})
	want(gone, "GET", all, "", http.StatusUnauthorized, "lets nobody in")
}

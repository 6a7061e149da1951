package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	authv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/musterhq/muster/internal/testing/kubetest"
)

// TestAKubeconfigThatIsRenewed: credentials inside the file expire and are
// renewed, and whoever opened it before goes on.
func TestAKubeconfigThatIsRenewed(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t, kubetest.Options{NoControllers: true, NoScheduler: true})
	ctx, file := t.Context(), filepath.Join(t.TempDir(), "kubeconfig")
	accounts := c.Client.CoreV1().ServiceAccounts("default")
	grant := func() {
		t.Helper()
		if _, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "short-lived"}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		token, err := accounts.CreateToken(ctx, "short-lived", &authv1.TokenRequest{}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		k, err := clientcmd.LoadFromFile(c.Kubeconfig)
		if err != nil {
			t.Fatal(err)
		}
		for _, user := range k.AuthInfos {
			user.ClientCertificate, user.ClientCertificateData, user.ClientKey, user.ClientKeyData = "", nil, "", nil
			user.Token = token.Status.Token
		}
		if err := clientcmd.WriteToFile(*k, file); err != nil {
			t.Fatal(err)
		}
	}
	grant()
	config, latest, err := clusterConfig(file, "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	who := func(client kubernetes.Interface) (string, error) {
		r, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authv1.SelfSubjectReview{}, metav1.CreateOptions{})
		if err != nil {
			return "", err
		}
		return r.Status.UserInfo.Username, nil
	}
	is := func(want string) {
		t.Helper()
		kubetest.Eventually(t, "requests by "+want, func() error {
			if got, err := who(client); got != want {
				return errf("by %q: %v", got, err)
			}
			fresh := rest.CopyConfig(latest())
			other, err := kubernetes.NewForConfig(fresh)
			if err != nil {
				return err
			}
			if got, err := who(other); got != want {
				return errf("with what is latest by %q: %v", got, err)
			}
			return nil
		})
	}
	const account = "system:serviceaccount:default:short-lived"
	is(account)
	if err := accounts.Delete(ctx, "short-lived", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	kubetest.Eventually(t, "the token is refused", func() error {
		if got, err := who(client); !apierrors.IsUnauthorized(err) {
			return errf("by %q: %v", got, err)
		}
		return nil
	})
	grant()
	is(account)

	// What cannot be read changes nothing; then it has a client certificate.
	if err := os.WriteFile(file, []byte("users: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	is(account)
	admin, err := who(c.Client)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	is(admin)
}

package taskpods

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend/kube/apicall"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/backend/kube/tasks"
	"github.com/musterhq/muster/internal/core"
)

// clash refuses a task one of whose objects has the name of another's.
func clash(kind string, m *metav1.ObjectMeta) error {
	return apicall.Refuse(podstatus.ReasonSystem, "a %s that is not ours has the name of its own, %s/%s: delete it, or give the workload another name", kind, m.Namespace, m.Name)
}

// createSecret makes the secret beside a pod, unless it was made before.
func (p *Pods) createSecret(ctx context.Context, id core.TaskID, s *corev1.Secret) error {
	secrets := p.cluster.Client.CoreV1().Secrets(s.Namespace)
	made, err := secrets.Create(ctx, s, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		if made, err = secrets.Get(ctx, s.Name, metav1.GetOptions{}); err == nil && made.Annotations[naming.NoteTask] != id.String() {
			return clash("secret", &made.ObjectMeta)
		}
	}
	if err != nil {
		return apicall.Classify(err)
	}
	p.Tasks.Edit(id, true, func(t *tasks.Task) {
		t.Space, t.Name, t.Secret, t.SecretUID = s.Namespace, s.Name, true, made.UID
	})
	return nil
}

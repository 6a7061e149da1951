package wire

import (
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
)

// Secret is the API's form of a secret, without its values.
func Secret(x core.Secret) api.Secret {
	scope, _ := x.Scope()
	return api.Secret{Project: string(scope), CreatedBy: x.By, Name: x.Name, Type: x.Type, Fields: x.Fields, Everywhere: x.Everywhere, CreatedAt: api.Time(x.CreatedAt)}
}

// Receiver is who is told, of what, as the record has it.
func Receiver(r api.Receiver, on []string) spec.Notification {
	return spec.Notification{On: on, Webhook: r.Webhook, Secret: r.Secret, Slack: r.Slack, Email: r.Email}
}

func receiverOf(n spec.Notification) api.Receiver {
	return api.Receiver{Webhook: n.Webhook, Secret: n.Secret, Slack: n.Slack, Email: n.Email}
}

// Notification is the API's form of a subscription.
func Notification(x core.Subscription) api.Notification {
	return api.Notification{
		NewNotification: api.NewNotification{Name: x.Name, On: x.On, Receiver: receiverOf(x.Notification), Project: string(x.Project), Labels: x.Labels, Everyone: x.Everyone},
		CreatedAt:       api.Time(x.CreatedAt),
	}
}

// Delivery is the API's form of a delivery.
func Delivery(d core.Delivery) api.Delivery {
	at := func(t time.Time) *api.Time {
		if t.IsZero() {
			return nil
		}
		return new(api.Time(t))
	}
	w := &d.What
	return api.Delivery{
		ID: d.ID, User: d.User, Receiver: receiverOf(d.To), On: d.On, Workload: string(w.Workload), Name: w.Name, Project: string(w.Project),
		Phase: string(w.Phase), Reason: string(w.Reason), Message: w.Message, At: api.Time(w.At), State: string(d.State), Tries: d.Tries,
		NextAt: at(d.NextAt), LastAt: at(d.LastAt), Problem: d.Problem,
	}
}

package server

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/store"
)

type notificationOutput struct {
	Status int
	Body   api.Notification
}

type deliveryOutput struct {
	Status int
	Body   api.Delivery
}

func (s *Server) notificationRoutes() {
	tags := []string{"notifications"}
	huma.Register(s.api, huma.Operation{
		OperationID: "list-notifications", Method: http.MethodGet, Path: "/v1/notifications", Summary: "Of what you are told, and how", Tags: tags,
	}, func(ctx context.Context, _ *struct{}) (*struct{ Body api.NotificationList }, error) {
		all, err := s.store.Subscriptions(ctx)
		if err != nil {
			return nil, problem(s.log, err)
		}
		out := &struct{ Body api.NotificationList }{api.NotificationList{Items: []api.Notification{}}}
		for _, x := range all {
			if x.User == s.user(ctx) {
				out.Body.Items = append(out.Body.Items, notification(x))
			}
		}
		return out, nil
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "create-notification", Method: http.MethodPost, Path: "/v1/notifications", Summary: "Be told of your workloads", Tags: tags, DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *struct{ Body api.NewNotification }) (*notificationOutput, error) {
		n := in.Body
		x := core.Subscription{User: s.user(ctx), Name: n.Name, Notification: receiver(n.Receiver, n.On), Project: core.ProjectID(n.Project), Labels: n.Labels, Everyone: n.Everyone}
		v, err := s.control.Do(ctx, engine.AddSubscription(x))
		if err != nil {
			return nil, problem(s.log, err)
		}
		return &notificationOutput{Status: http.StatusCreated, Body: notification(v.(core.Subscription))}, nil
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "delete-notification", Method: http.MethodDelete, Path: "/v1/notifications/{name}", Summary: "Be told no more; what is on its way arrives", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *struct {
		Name string `path:"name"`
	}) (*struct{}, error) {
		if _, err := s.control.Do(ctx, engine.DropSubscription(core.SubscriptionID{User: s.user(ctx), Name: in.Name})); err != nil {
			return nil, problem(s.log, err)
		}
		return nil, nil
	})
	s.deliveryRoutes(tags)
}

func (s *Server) deliveryRoutes(tags []string) {
	huma.Register(s.api, huma.Operation{
		OperationID: "list-deliveries", Method: http.MethodGet, Path: "/v1/notifications/deliveries", Summary: "What was sent to you in the last 7 days, or waits to be, the newest first", Tags: tags,
	}, func(ctx context.Context, in *struct {
		State string `query:"state" enum:"waiting,delivered,failed"`
		Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
	}) (*struct{ Body api.DeliveryList }, error) {
		all, err := s.store.Deliveries(ctx, store.DeliveryQuery{User: s.user(ctx), State: core.DeliveryState(in.State), Limit: in.Limit})
		if err != nil {
			return nil, problem(s.log, err)
		}
		out := &struct{ Body api.DeliveryList }{api.DeliveryList{Items: []api.Delivery{}}}
		for _, d := range all {
			out.Body.Items = append(out.Body.Items, delivery(d))
		}
		return out, nil
	})
	send := func(id, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: http.MethodPost, Path: path, Summary: summary, Tags: tags, DefaultStatus: http.StatusAccepted}
	}
	answer := func(ctx context.Context, c engine.Command) (*deliveryOutput, error) {
		v, err := s.control.Do(ctx, c)
		if err != nil {
			return nil, problem(s.log, err)
		}
		return &deliveryOutput{Status: http.StatusAccepted, Body: delivery(v.(core.Delivery))}, nil
	}
	huma.Register(s.api, send("redeliver", "/v1/notifications/redeliver", "Try a delivery again, whatever became of it"),
		func(ctx context.Context, in *struct{ Body api.Redelivery }) (*deliveryOutput, error) {
			return answer(ctx, engine.Redeliver(s.user(ctx), in.Body.ID))
		})
	huma.Register(s.api, send("test-notification", "/v1/notifications/test", "Send a test; the list of deliveries tells what became of it"),
		func(ctx context.Context, in *struct{ Body api.NotificationTest }) (*deliveryOutput, error) {
			return answer(ctx, engine.TestDelivery(s.user(ctx), in.Body.Name, receiver(in.Body.Receiver, nil)))
		})
}

func receiver(r api.Receiver, on []string) spec.Notification {
	return spec.Notification{On: on, Webhook: r.Webhook, Secret: r.Secret, Slack: r.Slack, Email: r.Email}
}

func receiverOf(n spec.Notification) api.Receiver {
	return api.Receiver{Webhook: n.Webhook, Secret: n.Secret, Slack: n.Slack, Email: n.Email}
}

func notification(x core.Subscription) api.Notification {
	return api.Notification{
		NewNotification: api.NewNotification{Name: x.Name, On: x.On, Receiver: receiverOf(x.Notification), Project: string(x.Project), Labels: x.Labels, Everyone: x.Everyone},
		CreatedAt:       api.Time(x.CreatedAt),
	}
}

func delivery(d core.Delivery) api.Delivery {
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

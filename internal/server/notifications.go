package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/wire"
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
		all, err := s.Store.Subscriptions(ctx)
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		out := &struct{ Body api.NotificationList }{api.NotificationList{Items: []api.Notification{}}}
		for _, x := range all {
			if x.User == access.User(ctx) {
				out.Body.Items = append(out.Body.Items, wire.Notification(x))
			}
		}
		return out, nil
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "create-notification", Method: http.MethodPost, Path: "/v1/notifications", Summary: "Be told of your workloads", Tags: tags, DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *struct{ Body api.NewNotification }) (*notificationOutput, error) {
		n := in.Body
		if n.Everyone {
			if err := access.May(ctx, rbac.Read, rbac.Workloads, core.ProjectID(n.Project), ""); err != nil {
				return nil, err
			}
		}
		x := core.Subscription{User: access.User(ctx), Name: n.Name, Notification: wire.Receiver(n.Receiver, n.On), Project: core.ProjectID(n.Project), Labels: n.Labels, Everyone: n.Everyone}
		made, err := control.Do(ctx, s.Control, organisation.AddSubscription(x))
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		return &notificationOutput{Status: http.StatusCreated, Body: wire.Notification(made)}, nil
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "delete-notification", Method: http.MethodDelete, Path: "/v1/notifications/{name}", Summary: "Be told no more; what is on its way arrives", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *struct {
		Name string `path:"name"`
	}) (*struct{}, error) {
		if err := s.Control.Apply(ctx, organisation.DropSubscription(core.SubscriptionID{User: access.User(ctx), Name: in.Name})); err != nil {
			return nil, problem.Of(s.Log, err)
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
		all, err := s.Store.Deliveries(ctx, store.DeliveryQuery{User: access.User(ctx), State: core.DeliveryState(in.State), Limit: in.Limit})
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		out := &struct{ Body api.DeliveryList }{api.DeliveryList{Items: []api.Delivery{}}}
		for _, d := range all {
			out.Body.Items = append(out.Body.Items, wire.Delivery(d))
		}
		return out, nil
	})
	send := func(id, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: http.MethodPost, Path: path, Summary: summary, Tags: tags, DefaultStatus: http.StatusAccepted}
	}
	answer := func(ctx context.Context, c draft.Command[core.Delivery]) (*deliveryOutput, error) {
		sent, err := control.Do(ctx, s.Control, c)
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		return &deliveryOutput{Status: http.StatusAccepted, Body: wire.Delivery(sent)}, nil
	}
	huma.Register(s.api, send("redeliver", "/v1/notifications/redeliver", "Try a delivery again, whatever became of it"),
		func(ctx context.Context, in *struct{ Body api.Redelivery }) (*deliveryOutput, error) {
			return answer(ctx, organisation.Redeliver(access.User(ctx), in.Body.ID))
		})
	huma.Register(s.api, send("test-notification", "/v1/notifications/test", "Send a test; the list of deliveries tells what became of it"),
		func(ctx context.Context, in *struct{ Body api.NotificationTest }) (*deliveryOutput, error) {
			return answer(ctx, organisation.TestDelivery(access.User(ctx), in.Body.Name, wire.Receiver(in.Body.Receiver, nil)))
		})
}

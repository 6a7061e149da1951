import { Component, h, type ComponentType, type VNode } from 'preact'

/** A component that is drawn again only when same says that its props differ. */
export function memo<P extends object>(of: ComponentType<P>, same: (a: P, b: P) => boolean): ComponentType<P> {
  return class Memo extends Component<P> {
    shouldComponentUpdate(next: Readonly<P>): boolean {
      return !same(this.props as P, next as P)
    }
    render(): VNode {
      return h(of as ComponentType<object>, this.props)
    }
  }
}

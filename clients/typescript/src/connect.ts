import { Caller } from "./caller.js";
import { Destination, type ConnectOptions } from "./destination.js";
import { Muniment } from "./generated/operations.js";

/**
 * Returns the operations of the store that a server serves, as far as a client key allows them.
 *
 * `url` is the address of the server, such as `http://127.0.0.1:8718`. Nothing is sent before the first call.
 */
export function connect(url: string, options: ConnectOptions = {}): Muniment {
  return new Muniment(new Caller(new Destination(url, options)));
}

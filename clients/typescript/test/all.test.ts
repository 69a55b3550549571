import "./calls.js";
import "./retries.js";
import "./secrets.js";
import "./streams.js";

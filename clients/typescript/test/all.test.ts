import "./calls.js";
import "./events.js";
import "./readme.js";
import "./retries.js";
import "./secrets.js";
import "./streams.js";

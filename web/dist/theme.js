"use strict";(()=>{try{let e=JSON.parse(localStorage.getItem("muster.theme")??"null");(e==="dark"||e==="light")&&(document.documentElement.dataset.theme=e)}catch{}})();
